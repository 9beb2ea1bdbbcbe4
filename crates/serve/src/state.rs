//! What all requests share.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use app::experiment::StoreLocation;
use store::{Choices, Location};
use tokio::sync::Semaphore;

use crate::access::{Access, Tokens};
use crate::audit::Audit;
use crate::documents::Documents;
use crate::error::ServeError;
use crate::pool::Pool;
use crate::recent::Recent;
use crate::upload::MOST_UPLOADS;

/// The log of writes, in the folder of the artifacts.
const AUDIT: &str = "audit.jsonl";

/// How the server runs.
#[derive(Clone)]
pub struct Options {
    /// The store.
    pub place: StoreLocation,
    /// Where to listen. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Tokens; without any, the server only listens on loopback and everybody there may write.
    pub tokens: Tokens,
    /// Host names that the server accepts, in addition to addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The log of writes [default: `audit.jsonl` in the folder of the artifacts].
    pub audit: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            place: StoreLocation::default(),
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7420),
            tokens: Tokens::default(),
            hosts: Vec::new(),
            audit: None,
        }
    }
}

/// What all requests share; clones share it too.
#[derive(Clone)]
pub struct Dashboard(Arc<DashboardState>);

/// The parts of [`Dashboard`].
pub struct DashboardState {
    /// The folder of the artifacts.
    pub(crate) artifacts: PathBuf,
    pub(crate) pool: Arc<Pool>,
    /// Limits the number of uploads.
    pub(crate) uploads: Semaphore,
    pub(crate) access: Access,
    pub(crate) audit: Audit,
    pub(crate) documents: Documents,
    pub(crate) choices: Recent<Choices>,
    pub(crate) began: Instant,
    pub(crate) requests: AtomicU64,
    pub(crate) failures: AtomicU64,
    /// Browsers that watch live runs.
    pub(crate) watchers: AtomicU64,
}

impl Dashboard {
    /// Opens the store and the log of writes; refuses to listen on a network without a token.
    pub fn open(options: &Options) -> Result<Self, ServeError> {
        if !options.listen.ip().is_loopback() && options.tokens.is_empty() {
            return Err(ServeError::NeedsToken(options.listen));
        }
        let place = &options.place;
        let location = Location::find(place.database.as_deref(), place.artifacts.as_deref());
        let artifacts = location.artifacts().to_path_buf();
        let audit = options.audit.clone().unwrap_or_else(|| artifacts.join(AUDIT));
        let pool = Arc::new(Pool::open(location)?);
        Ok(Self(Arc::new(DashboardState {
            artifacts,
            pool,
            uploads: Semaphore::new(MOST_UPLOADS),
            access: Access::new(options.tokens.clone(), options.hosts.clone())?,
            audit: Audit::open(&audit)?,
            documents: Documents::default(),
            choices: Recent::default(),
            began: Instant::now(),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            watchers: AtomicU64::new(0),
        })))
    }
}

impl Deref for Dashboard {
    type Target = DashboardState;

    fn deref(&self) -> &DashboardState {
        &self.0
    }
}
