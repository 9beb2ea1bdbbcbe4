//! Stores, functions and settings that scheduler, executors and clients share.

use std::sync::Arc;

use ballista_core::extension::{
    SessionConfigExt, ballista_aggregate_functions, ballista_scalar_functions, ballista_window_functions,
};
use datafusion::error::Result;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use lake::Stores;

/// Settings of a session.
pub fn config() -> SessionConfig {
    lake::settings(SessionConfig::new_with_ballista())
}

/// Stores that a session reaches. Executors bound the memory of each task themselves.
pub fn environment(_: &SessionConfig) -> Result<Arc<RuntimeEnv>> {
    RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default())).build_arc()
}

/// A session of the scheduler or a client.
pub fn state(config: SessionConfig) -> Result<SessionState> {
    let environment = environment(&config)?;
    Ok(SessionStateBuilder::new()
        .with_runtime_env(environment)
        .with_config(config)
        .with_default_features()
        .with_scalar_functions(ballista_scalar_functions())
        .with_aggregate_functions(ballista_aggregate_functions())
        .with_window_functions(ballista_window_functions())
        .build())
}
