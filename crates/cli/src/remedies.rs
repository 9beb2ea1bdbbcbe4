//! The one table that turns a remedy into what to type.

use app::{NextStep, Remedy};

use crate::selection;

/// What to do if memory does not suffice.
pub const MORE_MEMORY: &str = "look at a part of the input, or allow more with `--memory 64G`";

/// A remedy as a line of help, or as the end of a note.
pub fn words(remedy: &Remedy) -> String {
    let text = match remedy {
        Remedy::Advice(text) => return text.clone(),
        Remedy::LookCloser(closer) => return look_closer(&closer.0, &closer.1),
        Remedy::GpuFact(key) => return format!("set it with `--specs {key}=MHZ`"),
        Remedy::PanelCounters(block) => {
            return format!("collect that panel's counters with `--preset panels --block {block}`");
        }
        Remedy::CollectCounters { names, passes } => {
            let times = if passes.is_empty() { String::new() } else { format!(" {passes}") };
            let names = names.join(",");
            return format!("collect them{times}: `rocm-perf collect --counters {names} -- ./app`");
        }
        Remedy::ServerFolder(Some(path)) => {
            return format!("the server wrote `{path}`: give that folder with `--trace-dir`");
        }
        Remedy::ConvertToRocpd(path) => {
            return format!("convert it first: `rocm-perf convert {path} --to rocpd`");
        }
        Remedy::AddToLake(lake) => {
            return format!("put them into it: `rocm-perf lake add TRACES… --lake {lake}`");
        }
        Remedy::AllowFlags(what) => return format!("allow it with `--flags`: it {what}"),
        Remedy::AllowFastMath(what) => return format!("allow it with `--allow-fast-math`: it {what}"),
        Remedy::Apply(patch) => {
            return format!("apply it with `patch -p1 < {patch}`, or rerun with `--apply`");
        }
        Remedy::NoProfiler(install) => {
            let install = if install.is_empty() { String::new() } else { format!("; {install}") };
            return format!(
                "`--no-rocprof` times the process without a profiler, `rocm-perf demo --profile` shows a simulated \
                 profile{install}"
            );
        }
        Remedy::ReadFolder(folder) => return format!("read it with `rocm-perf summary {folder}`"),
        Remedy::DoctorFile => "make one with `rocm-perf doctor --format json > doctor.json`",
        Remedy::MakeLake => "make one with `rocm-perf lake build TRACES… --out LAKE`",
        Remedy::LakeInSql => {
            "choose the part in SQL: `rocm-perf query LAKE --sql '… WHERE rank = 3 AND start > 1000'`"
        }
        Remedy::LakeEngine => "build one that does: `cargo install --path crates/cli --features lake`",
        Remedy::CheckLake => "list all that is wrong with `rocm-perf lake check LAKE`",
        Remedy::StartCluster => "check that `rocm-perf-cluster scheduler` and an executor run there",
        Remedy::ClusterClient => {
            "install it with `cargo install --path crates/cluster --features ballista`, beside rocm-perf or in PATH"
        }
        Remedy::NameInput => "name a trace file or a folder, or run `rocm-perf demo` for an example",
        Remedy::OtherPlace => "choose another path with `--out`",
        Remedy::OtherPackage => "choose another path with `--package`",
        Remedy::OtherPlaceOrReplace => "choose another path with `--out`, or overwrite it with `--force`",
        Remedy::Mapping => "give a capture trace or a graph-off trace with `--mapping`",
        Remedy::CaptureIsMapping => "give the trace of the run, and pass the capture trace with `--mapping`",
        Remedy::KernelRules => "classify more kernels with `--rules FILE`",
        Remedy::AllShares => "show them with `--min-share 0`",
        Remedy::OtherRank => "choose another with `--rank N`",
        Remedy::OneMarker => {
            "give one of these times with `--start` or `--end`, or choose with `--rank` or `--pid`"
        }
        Remedy::OneClock => {
            "give a percentage (`30%`) or a time from the start (`1.2s`), which apply to each clock, or choose one \
             recording with `--rank` or `--pid`"
        }
        Remedy::OneHost => {
            "look at one host at a time: choose with `--rank` or `--pid`, or name its files only"
        }
        Remedy::Overlapping => "`--overlapping` also keeps rows that only touch the window",
        Remedy::AllSegments => "`--all-segments` shows each segment in its own row",
        Remedy::WhatIf => "write it like `--what-if 'gemm=0.5'`: half the time for all GEMMs",
        Remedy::PythonFrames => "include them with `--python`",
        Remedy::Repeats => "name several runs: `--base RUN RUN … --candidate RUN RUN …`",
        Remedy::CompareCalls => "compare the mean per call with `--value mean`",
        Remedy::CompareAnyway => "compare them anyway with `--force`",
        Remedy::AssumeComparable => "if you know that the runs are comparable, add `--assume-comparable`",
        Remedy::GateInterval => {
            "name several runs: `--base RUN RUN … --candidate RUN RUN …`; or judge the change itself with \
             `--fail-on-point`"
        }
        Remedy::RooflineCounters => {
            "list the counters to collect with `rocm-perf roofline --list-counters --arch gfx942`"
        }
        Remedy::Arch => "name it with `--arch gfx942`",
        Remedy::ArchAndRegisters => {
            "name a trace, a code object or a program, or give `--arch gfx942 --vgpr 128`"
        }
        Remedy::Registers => "give them with `--vgpr 128`, or name a trace, a code object or a program",
        Remedy::NoRegisters => {
            "`--vgpr`, `--agpr`, `--sgpr`, `--wave-size` and `--cu-mode` describe a kernel without an input: drop them"
        }
        Remedy::NoLds => "`--lds` applies to code objects and to kernels described by options: drop it",
        Remedy::KernelNameOnly => "only `--kernel` applies to code objects: drop the other selections",
        Remedy::CodeObject => "pass the code objects of a trace with `--code-object`",
        Remedy::ListKernels => "list kernels, their ids and dispatches with `--list-stats`",
        Remedy::ListPanels => "list panels and metrics with `rocm-perf panels --list-metrics gfx942`",
        Remedy::Everything => "list all of them with `--format json`",
        Remedy::ProfileCounters => "add `--with-counters`",
        Remedy::ProfileThreadTrace => "add `--with-thread-trace`",
        Remedy::ProfilerOutput => "show its output with `--debug`",
        Remedy::WithoutProfiler => {
            "a program that ignores HIP errors exits with 0 even without a GPU; `--no-rocprof` times the process"
        }
        Remedy::Timeout => "set the time limit of a run with `--timeout`",
        Remedy::TimeoutOrShorter => "raise `--timeout`, or profile a shorter run",
        Remedy::OtherMeasure => "install rocprofiler-sdk, or measure with `--no-rocprof` or `--metric REGEX`",
        Remedy::TimingRun => "add one with `--timing`",
        Remedy::SampleMode => "`--mode sample` does not rewrite the program",
        Remedy::NameApplication => "put the application after `--`: `rocm-perf collect -- ./app ARGS`",
        Remedy::NameProgram => "put the program after `--`: `rocm-perf profile -- ./app --its --options`",
        Remedy::ServerAddress => "start the server, or give its address with `--url http://HOST:PORT`",
        Remedy::TimeoutOrFewerSteps => {
            "exports of long windows take minutes: raise `--timeout`, or profile fewer steps with `--num-steps`"
        }
        Remedy::TimeoutOrShorterRequests => "raise `--timeout`, or send shorter requests",
        Remedy::FewerSteps => {
            "see the server's log; a profile with stacks needs a lot of host memory: try fewer `--num-steps`"
        }
        Remedy::ServerKey => "pass the key with `--api-key` or in ROCM_PERF_API_KEY",
        Remedy::ServerFramework => "name the framework with `--framework`, and check the port",
        Remedy::StopFirst => {
            "stop a profile that is already running with `--stop-first`; see also the server's log"
        }
        Remedy::RequestLengths => {
            "the request may be too long for the model: lower `--prefill-input-len` or `--decode-output-len`"
        }
        Remedy::UnfinishedFile => {
            "the server was killed or is still writing: raise `--timeout`, and check its log and free disk space"
        }
        Remedy::ServerFolder(None) => {
            "give the folder the server writes to with `--trace-dir` (and its path inside the container with \
             `--server-dir`); for vLLM it is the server's torch_profiler_dir"
        }
        Remedy::MergeKeepsEnvironment => "keep them with `rocm-perf merge --keep-environment`",
        Remedy::BuildOrSource => {
            "give `--build COMMAND`, or name the one file to compile with `--source FILE`"
        }
        Remedy::KeepEnvironment => "keep them with `--keep-environment`",
        Remedy::OtherDevice => "choose another folder with `--out`, or ignore those runs with `--force`",
        Remedy::KernelSource => "name it with `--source FILE`",
        Remedy::SmallerTree => "name a smaller folder with `--tree DIR`",
        Remedy::BuildInTree => {
            "the build runs in a copy of the tree: its paths must be relative, or inside `--tree`"
        }
        Remedy::Checker => {
            "give `--check COMMAND` or `--golden OUTPUT`; `--unchecked` accepts changes without a check and records that"
        }
        Remedy::RunCommand => "give `--cmd-template './program {NAME}'`, or set `run` in the space file",
        Remedy::BuildCommand => {
            "give `--build-template`, or set `build` in the space file; only builds run in parallel"
        }
        Remedy::PassEnvironment => "pass one on with `--pass-env NAME`",
        Remedy::NoSandbox => {
            "in the sandbox it reaches no network and writes only in its copy and TMPDIR; `--no-sandbox` allows both"
        }
        Remedy::FollowLinks => "read them with `--follow`",
        Remedy::SqlRuleFormat => "see an example rule with `rocm-perf explain --help`",
        Remedy::SeeContents => "see what is in a trace with `rocm-perf info`",
        Remedy::SeeNames => {
            "list kernel names with `rocm-perf summary`, or use compute, copy, communication, launch, queueing, host, \
             sync or a category such as gemm"
        }
        Remedy::SeeFindings => "list them with `rocm-perf explain`",
        Remedy::ShowPreset => "see what a preset runs with `rocm-perf presets show NAME --arch gfx942`",
    };
    text.into()
}

/// The command that shows more about a finding.
fn look_closer(step: &NextStep, trace: &str) -> String {
    if let NextStep::InFile(of_file) = step {
        return look_closer(&of_file.0, &of_file.1);
    }
    let trace = quoted(trace);
    let of_kernel = |name: &str| quoted(&format!("^{}$", app::exact_pattern(name)));
    let (command, options) = match step {
        NextStep::Without(key) => {
            ("critical-path", format!(" --what-if {}", quoted(&format!("finding:{key}=0"))))
        }
        NextStep::CriticalPath => ("critical-path", String::new()),
        NextStep::Overlap => ("overlap", String::new()),
        NextStep::Ranks => ("breakdown", " --by-rank".into()),
        NextStep::Copies => ("summary", " --table memory_copies".into()),
        NextStep::Triage => ("triage", String::new()),
        NextStep::Explain => ("explain", String::new()),
        NextStep::Roofline(kernel) => ("roofline", format!(" --kernel {}", of_kernel(kernel))),
        NextStep::Bottleneck(kernel) => ("bottleneck", format!(" --kernel {}", of_kernel(kernel))),
        NextStep::Kernel(kernel) => ("summary", format!(" --kernel {}", of_kernel(kernel))),
        NextStep::InFile(_) => ("explain", String::new()),
    };
    let mut line = format!("rocm-perf {command} {trace}{options}");
    // The same part of the trace; a kernel in the step takes precedence over `--kernel`.
    let asked = selection::asked().iter();
    for given in asked.filter(|given| !options.contains(&format!(" {} ", given.name))) {
        line.push(' ');
        line.push_str(&given.name);
        if !given.value.is_empty() {
            line.push(' ');
            line.push_str(&quoted(&given.value));
        }
    }
    line
}

/// A word quoted for a shell if needed.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_no_longer_end_without_the_command_to_type() {
        let command = |step: NextStep| look_closer(&step, "my runs/t.json");
        assert_eq!(
            command(NextStep::Without("launch-bound:decode step".into())),
            "rocm-perf critical-path 'my runs/t.json' --what-if 'finding:launch-bound:decode step=0'"
        );
        assert_eq!(
            command(NextStep::Roofline("void f<float>(int*)".into())),
            "rocm-perf roofline 'my runs/t.json' --kernel '^void f<float>\\(int\\*\\)$'"
        );
        assert_eq!(look_closer(&NextStep::Overlap, "runs/t.json"), "rocm-perf overlap runs/t.json");
        let of_rank = NextStep::InFile(Box::new((NextStep::Explain, "runs/rank3.json".into())));
        assert_eq!(look_closer(&of_rank, "runs"), "rocm-perf explain runs/rank3.json");
    }
}
