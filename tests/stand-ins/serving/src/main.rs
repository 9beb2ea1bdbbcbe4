//! The stand-in as a program, to try `rocm-perf capture` without a GPU.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use rocm_perf_stand_in_serving::{Config, Faults, Framework, StandIn};

/// Stands in for an SGLang or vLLM server on the loopback interface
#[derive(Parser)]
struct Arguments {
    /// Stand in for vLLM instead of SGLang
    #[arg(long)]
    vllm: bool,
    /// Port
    #[arg(long, default_value_t = 30000)]
    port: u16,
    /// Folder for traces that no request names (vLLM's torch_profiler_dir)
    #[arg(long, default_value = ".")]
    trace_dir: PathBuf,
    /// Ranks
    #[arg(long, default_value_t = 1)]
    tp_size: u32,
    /// Key that requests must carry
    #[arg(long)]
    api_key: Option<String>,
    /// vLLM without a profiler: 404 on the profile routes
    #[arg(long)]
    no_profiling: bool,
    /// Milliseconds of a forward step
    #[arg(long, default_value_t = 1)]
    step_ms: u64,
    /// Milliseconds before files appear, and again before they are whole
    #[arg(long, default_value_t = 500)]
    export_ms: u64,
    /// `/start_profile` fails
    #[arg(long)]
    start_fails: bool,
    /// Seconds that `/stop_profile` hangs
    #[arg(long)]
    stop_hangs: Option<u64>,
    /// No file is ever written
    #[arg(long)]
    no_file: bool,
    /// Files go here whatever was asked
    #[arg(long)]
    wrong_dir: Option<PathBuf>,
    /// Only this rank writes
    #[arg(long)]
    only_rank: Option<u32>,
    /// Files stay half written
    #[arg(long)]
    truncated: bool,
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let export = Duration::from_millis(arguments.export_ms);
    let server = StandIn::start(Config {
        framework: if arguments.vllm { Framework::Vllm } else { Framework::Sglang },
        port: arguments.port,
        profiling: !arguments.no_profiling,
        trace_dir: arguments.trace_dir,
        tp_size: arguments.tp_size,
        api_key: arguments.api_key,
        step: Duration::from_millis(arguments.step_ms),
        export_delay: export,
        half_written: export,
        faults: Faults {
            start_fails: arguments.start_fails,
            stop_hangs: arguments.stop_hangs.map(Duration::from_secs),
            no_file: arguments.no_file,
            wrong_dir: arguments.wrong_dir,
            only_rank: arguments.only_rank,
            truncated: arguments.truncated,
            ..Faults::default()
        },
        ..Config::default()
    })?;
    println!("{}", server.url());
    server.join();
    Ok(())
}
