//! `scheduler`

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service};
use clap::Args;

use crate::{guard, state};

#[derive(Args, Debug)]
pub struct SchedulerArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// Port to listen on
    #[arg(long, value_name = "PORT", default_value_t = 50050)]
    port: u16,

    /// Name under which executors reach this machine
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    host: String,

    /// Seconds of silence after which an executor counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    executor_timeout: u64,
}

impl SchedulerArgs {
    pub async fn run(self) -> Result<(), String> {
        let config = SchedulerConfig {
            bind_host: self.bind.to_string(),
            bind_port: self.port,
            external_host: self.host,
            executor_timeout_seconds: self.executor_timeout,
            expire_dead_executor_interval_seconds: (self.executor_timeout / 4).max(1),
            no_executors_grace_period_seconds: self.executor_timeout,
            // A failed part of a query is not retried on its own: the client retries the whole query.
            task_max_failures: 1,
            stage_max_failures: 1,
            override_config_producer: Some(Arc::new(state::config)),
            override_session_builder: Some(Arc::new(state::state)),
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_from_config(&config).await.map_err(|error| error.to_string())?;
        let (cluster, guard) = guard::guarded(&cluster);
        let scheduler: guard::Scheduler =
            create_scheduler(cluster, Arc::new(config)).await.map_err(|error| error.to_string())?;
        guard.watch(scheduler.clone());
        let address = SocketAddr::new(self.bind, self.port);
        eprintln!("scheduler on {address}");
        start_grpc_service(address, scheduler).await.map_err(|error| format!("port {}: {error}", self.port))
    }
}
