//! `rocm-perf-cluster`: the scheduler, an executor, or a client of a cluster that queries lakes.

mod client;
mod executor;
mod guard;
mod logging;
mod scheduler;
mod state;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Queries lakes with many machines
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Examples:
  rocm-perf-cluster scheduler --bind 0.0.0.0 --host head
  rocm-perf-cluster executor --scheduler head:50050 --host $(hostname) --memory 64
  rocm-perf query LAKE --cluster http://head:50050 --sql 'SELECT * FROM top_kernels'

All machines must reach the lake under the same path, or in an object store.
Traffic is neither encrypted nor checked: keep the ports inside the cluster."
)]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Plans queries and hands work to executors
    Scheduler(scheduler::SchedulerArgs),
    /// Runs the tasks of queries
    Executor(executor::ExecutorArgs),
    /// Runs one query and prints its rows as JSON lines, for rocm-perf
    Query(client::QueryArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Plans are trees that are walked recursively.
        .thread_stack_size(32 << 20)
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("cannot start threads: {error}"), 2),
    };
    match arguments.role {
        Role::Scheduler(args) => {
            logging::start();
            served(runtime.block_on(args.run()))
        }
        Role::Executor(args) => {
            logging::start();
            served(runtime.block_on(args.run()))
        }
        Role::Query(args) => match runtime.block_on(args.run()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(client::Failure { message, code }) => failed(&message, code),
        },
    }
}

fn served(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => failed(&message, 2),
    }
}

fn failed(message: &str, code: u8) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(code)
}
