//! Ends every running query when an executor is lost.
//!
//! Ballista 55 would run the lost parts of a query again. Tests with `kill -9` showed that a static plan then
//! counts rows twice, and an adaptive plan never ends. So a query whose executor is lost is cancelled before
//! Ballista hears of the loss, and the client asks again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::ExecutorHeartbeat;
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_scheduler::cluster::{
    BallistaCluster, BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot,
};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::task_manager::JobInfoCache;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};

/// The scheduler that is guarded.
pub type Scheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

/// Cluster state that cancels queries before it drops an executor.
pub struct Guard {
    state: Arc<dyn ClusterState>,
    scheduler: OnceLock<Scheduler>,
    /// Queries that executors are running.
    running: Mutex<HashSet<JobId>>,
    /// Lost executors: Ballista may report one more than once, and later queries do not use them.
    gone: Mutex<HashSet<String>>,
}

/// Puts a guard around the cluster; call `Guard::watch` with the scheduler before the first query.
pub fn guarded(cluster: &BallistaCluster) -> (BallistaCluster, Arc<Guard>) {
    let guard = Arc::new(Guard {
        state: cluster.cluster_state(),
        scheduler: OnceLock::new(),
        running: Mutex::default(),
        gone: Mutex::default(),
    });
    let cluster = BallistaCluster::new(Arc::clone(&guard) as Arc<dyn ClusterState>, cluster.job_state());
    (cluster, guard)
}

impl Guard {
    /// Sets the scheduler whose queries to cancel.
    pub fn watch(&self, scheduler: Scheduler) {
        // A process has only one scheduler.
        let _ = self.scheduler.set(scheduler);
    }
}

/// Locks a mutex; a thread that panicked while it held the lock left the value whole.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl ClusterState for Guard {
    async fn remove_executor(&self, executor_id: &str) -> Result<()> {
        let is_news = held(&self.gone).insert(executor_id.to_string());
        let running = if is_news { std::mem::take(&mut *held(&self.running)) } else { HashSet::new() };
        if let Some(scheduler) = self.scheduler.get() {
            for query in running {
                // The scheduler handles this before the loss, which is announced when we return.
                scheduler.cancel_job(query).await?;
            }
        }
        self.state.remove_executor(executor_id).await
    }

    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        active_jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        *held(&self.running) = active_jobs.keys().cloned().collect();
        self.state.bind_schedulable_tasks(distribution, active_jobs, executors).await
    }

    async fn init(&self) -> Result<()> {
        self.state.init().await
    }

    async fn unbind_tasks(&self, executor_slots: Vec<ExecutorSlot>) -> Result<()> {
        self.state.unbind_tasks(executor_slots).await
    }

    async fn register_executor(&self, metadata: ExecutorMetadata, spec: ExecutorData) -> Result<()> {
        held(&self.gone).remove(&metadata.id);
        self.state.register_executor(metadata, spec).await
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        held(&self.gone).remove(&metadata.id);
        self.state.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor_id: &str) -> Result<ExecutorMetadata> {
        self.state.get_executor_metadata(executor_id).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.state.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.state.save_executor_heartbeat(heartbeat).await
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        self.state.executor_heartbeats()
    }

    fn get_executor_heartbeat(&self, executor_id: &str) -> Option<ExecutorHeartbeat> {
        self.state.get_executor_heartbeat(executor_id)
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.state.cluster_state_events().await
    }
}
