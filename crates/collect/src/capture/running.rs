//! Profiles that this process started, so that an interrupt does not leave a server profiling forever.

use std::sync::Mutex;
use std::time::Duration;

static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());

/// A user who interrupted does not wait longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A profile on a server.
pub(super) struct Running {
    pub url: String,
    pub key: Option<String>,
}

/// Records that a profile was started.
pub(super) fn add(profile: Running) {
    remove(&profile.url);
    RUNNING.lock().unwrap_or_else(|e| e.into_inner()).push(profile);
}

/// Records that the profile of a server was stopped.
pub(super) fn remove(url: &str) {
    RUNNING.lock().unwrap_or_else(|e| e.into_inner()).retain(|profile| profile.url != url);
}

/// Asks every server that is still profiling for us to stop; for the handler of Ctrl-C.
pub fn stop_running_profiles() {
    let profiles = std::mem::take(&mut *RUNNING.lock().unwrap_or_else(|e| e.into_inner()));
    for profile in profiles {
        let config =
            ureq::Agent::config_builder().max_redirects(0).proxy(None).timeout_global(Some(PATIENCE)).build();
        let mut request = config.new_agent().post(format!("{}/stop_profile", profile.url));
        if let Some(key) = &profile.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        // The server may be gone or slow: there is nobody left to report it to.
        let _ = request.send_empty();
    }
}
