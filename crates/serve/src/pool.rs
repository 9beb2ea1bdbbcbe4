//! Connections to the store. Its calls block, so each runs on a thread of its own, a few at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::{Location, Store, StoreError};
use tokio::sync::Semaphore;

use crate::error::Problem;

/// Requests that use the store at the same time.
const CONNECTIONS: usize = 8;
/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Idle open connections.
pub struct Pool {
    location: Location,
    idle: Mutex<Vec<Store>>,
    turns: Semaphore,
}

impl Pool {
    /// Opens the store once, so that a wrong location is found before the server runs.
    pub fn open(location: Location) -> Result<Self, StoreError> {
        let first = Store::open(&location)?;
        Ok(Self { location, idle: Mutex::new(vec![first]), turns: Semaphore::new(CONNECTIONS) })
    }

    /// Runs a closure with a connection.
    pub async fn with<T, E>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Store) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        let busy = || Problem::unavailable("the server is busy");
        let turn = tokio::time::timeout(PATIENCE, self.turns.acquire());
        let _turn = turn.await.map_err(|_| busy())?.map_err(|_| busy())?;
        let pool = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let mut store = pool.take()?;
            let done: Result<T, Problem> = work(&mut store).map_err(Into::into);
            // A connection that failed may be broken; the next request opens a new one.
            let is_sound = done.as_ref().err().is_none_or(|problem| !problem.status.is_server_error());
            if is_sound {
                pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(store);
            }
            done
        });
        done.await.map_err(|_| Problem::internal("the request failed; the server's log says why"))?
    }

    fn take(&self) -> Result<Store, Problem> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(store) => Ok(store),
            None => Ok(Store::open(&self.location)?),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Closing a PostgreSQL connection blocks, which runtime threads must not: the server aborted here.
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        std::thread::spawn(move || drop(idle));
    }
}
