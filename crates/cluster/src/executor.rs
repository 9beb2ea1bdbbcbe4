//! `executor`

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use clap::Args;

use crate::state;

#[derive(Args, Debug)]
pub struct ExecutorArgs {
    /// Host and port of the scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "localhost:50050")]
    scheduler: String,

    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// Name under which other machines reach this one
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// Port for results; the next one is used too
    #[arg(long, value_name = "PORT", default_value_t = 50051)]
    port: u16,

    /// Tasks at once [default: all cores]
    #[arg(long, value_name = "N")]
    tasks: Option<usize>,

    /// Memory for all tasks together, in GB [default: half of the machine's]
    #[arg(long, value_name = "GB")]
    memory: Option<f64>,

    /// Folder for results between the steps of a query
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Seconds between heartbeats
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    heartbeat: u64,
}

impl ExecutorArgs {
    pub async fn run(self) -> Result<(), String> {
        let (host, port) = self
            .scheduler
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host.to_string(), port.parse().ok()?)))
            .ok_or_else(|| format!("`{}` is not the HOST:PORT of a scheduler", self.scheduler))?;
        let bytes = self.memory.map_or(lake::half_of_memory() as f64, |gigabytes| gigabytes * 1e9);
        if bytes.is_nan() || bytes < 1e6 {
            return Err("an executor needs at least 0.001 GB of memory".into());
        }
        let mut config = ExecutorProcessConfig {
            bind_host: self.bind.to_string(),
            external_host: self.host,
            port: self.port,
            grpc_port: self.port.saturating_add(1),
            scheduler_host: host,
            scheduler_port: port,
            // It may be started before the scheduler.
            scheduler_connect_timeout_seconds: 60,
            work_dir: self.work_dir.map(|folder| folder.display().to_string()),
            memory_pool_size: Some(bytes as u64),
            executor_heartbeat_interval_seconds: self.heartbeat.max(1),
            override_config_producer: Some(Arc::new(state::config)),
            override_runtime_producer: Some(Arc::new(state::environment)),
            ..ExecutorProcessConfig::default()
        };
        if let Some(tasks) = self.tasks {
            config.vcores = tasks.max(1);
        }
        start_executor_process(Arc::new(config)).await.map_err(|error| error.to_string())
    }
}
