//! Browsers that logged in with a token.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::tokens::{Role, hash};
use crate::error::Problem;

/// How long a browser stays logged in.
pub const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// Sessions that are kept; the oldest go first.
const MOST: usize = 10_000;

/// Sessions by the hash of their cookie: reading this does not grant access.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<[u8; 32], (Role, Instant)>>);

impl Sessions {
    /// Begins a session; returns its cookie.
    pub fn begin(&self, role: Role) -> Result<String, Problem> {
        let cookie = random()?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, (_, began)| began.elapsed() < LIFETIME);
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, (_, began))| *began).map(|(key, _)| *key);
            oldest.map(|key| sessions.remove(&key));
        }
        sessions.insert(hash(cookie.as_bytes()), (role, Instant::now()));
        Ok(cookie)
    }

    /// What a session allows.
    pub fn role(&self, cookie: &str) -> Option<Role> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (role, began) = sessions.get(&hash(cookie.as_bytes()))?;
        (began.elapsed() < LIFETIME).then_some(*role)
    }

    /// Ends a session.
    pub fn end(&self, cookie: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(cookie.as_bytes()));
    }
}

/// 32 bytes that nobody can guess, as hexadecimal digits.
pub fn random() -> Result<String, Problem> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Problem::internal(format!("the system has no random numbers: {error}")))?;
    Ok(hex(&bytes))
}

/// Hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
