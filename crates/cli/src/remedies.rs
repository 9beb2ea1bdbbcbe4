//! What to type: the one table that turns a remedy into an option of the command line.

use app::{NextStep, Remedy};

/// A remedy as a line of help, or as the end of a note.
pub fn words(remedy: &Remedy) -> String {
    let text = match remedy {
        Remedy::Advice(text) => return text.clone(),
        Remedy::LookCloser(closer) => return look_closer(&closer.0, &closer.1),
        Remedy::GpuFact(key) => return format!("give it with `--specs {key}=MHZ`"),
        Remedy::PanelCounters(block) => {
            return format!("`--preset panels --block {block}` collects what that panel needs");
        }
        Remedy::CollectCounters { names, passes } => {
            let times = if passes.is_empty() { String::new() } else { format!(" {passes}") };
            let names = names.join(",");
            return format!("`rocm-perf collect --counters {names} -- ./app` collects them{times}");
        }
        Remedy::ServerFolder(Some(path)) => {
            return format!("the server wrote `{path}`: give that folder with `--trace-dir`");
        }
        Remedy::ConvertToRocpd(path) => return format!("first `rocm-perf convert {path} --to rocpd`"),
        Remedy::AllowFlags(what) => return format!("`--flags` allows it: it {what}"),
        Remedy::AllowFastMath(what) => return format!("`--allow-fast-math` allows it: it {what}"),
        Remedy::Apply(patch) => return format!("`patch -p1 < {patch}` applies it, and so does `--apply`"),
        Remedy::NoProfiler(install) => {
            let install = if install.is_empty() { String::new() } else { format!("; {install}") };
            return format!(
                "`--no-rocprof` times the process without a profiler, `rocm-perf demo --profile` shows a simulated \
                 profile{install}"
            );
        }
        Remedy::ReadFolder(folder) => return format!("read it with `rocm-perf summary {folder}`"),
        Remedy::DoctorFile => "`rocm-perf doctor --format json > doctor.json` writes such a file",
        Remedy::NameInput => "name a trace file or a folder, or try `rocm-perf demo` to see an example",
        Remedy::OtherPlace => "choose another place with `--out`",
        Remedy::OtherPackage => "choose another place with `--package`",
        Remedy::OtherPlaceOrReplace => "choose another place with `--out`, or replace it with `--force`",
        Remedy::Mapping => "give a capture trace or a graph-off trace with `--mapping`",
        Remedy::CaptureIsMapping => {
            "give the trace of the run; a capture trace goes with `--mapping`, to locate its kernels"
        }
        Remedy::KernelRules => "`--rules FILE` names more kernels",
        Remedy::AllShares => "`--min-share 0` shows them",
        Remedy::OtherRank => "`--rank N` looks at another",
        Remedy::OneMarker => {
            "give one of these times with `--start` or `--end`, or choose with `--rank` or `--pid`"
        }
        Remedy::OneClock => {
            "give a share (`30%`) or a time from the start (`1.2s`), which count per clock, or choose with `--rank` or \
             `--pid`"
        }
        Remedy::OneHost => {
            "look at one host at a time: choose with `--rank` or `--pid`, or name its files only"
        }
        Remedy::Overlapping => "`--overlapping` also keeps what only touches the window",
        Remedy::AllSegments => "`--all-segments` gives each its own",
        Remedy::WhatIf => "write it like `--what-if 'gemm=0.5'`: half the time for all GEMMs",
        Remedy::PythonFrames => "`--python` includes them in the regions",
        Remedy::Repeats => "name several runs: `--base RUN RUN … --candidate RUN RUN …`",
        Remedy::CompareCalls => "`--value mean` compares single calls",
        Remedy::CompareAnyway => "`--force` compares them all the same",
        Remedy::AssumeComparable => {
            "if you know that the runs are comparable, say so with `--assume-comparable`"
        }
        Remedy::GateInterval => {
            "name several runs: `--base RUN RUN … --candidate RUN RUN …`; or let the change itself decide with \
             `--fail-on-point`"
        }
        Remedy::RooflineCounters => {
            "`rocm-perf roofline --list-counters --arch gfx942` lists the counters to collect"
        }
        Remedy::Arch => "say which with `--arch gfx942`",
        Remedy::ArchAndRegisters => {
            "name a trace, a code object or a program, or give `--arch gfx942 --vgpr 128`"
        }
        Remedy::Registers => "give them with `--vgpr 128`, or name a trace, a code object or a program",
        Remedy::NoRegisters => {
            "`--vgpr`, `--agpr`, `--sgpr`, `--wave-size` and `--cu-mode` describe a kernel without an input: drop them"
        }
        Remedy::NoLds => "`--lds` is for code objects and for a kernel given by its numbers: drop it",
        Remedy::KernelNameOnly => "only `--kernel` applies to code objects: drop the other selections",
        Remedy::CodeObject => "the code objects of a trace go to `--code-object`",
        Remedy::ListKernels => "`--list-stats` lists kernels with their ids, and dispatches",
        Remedy::ListPanels => "`rocm-perf panels --list-metrics gfx942` lists panels and metrics",
        Remedy::Everything => "`--format json` names each",
        Remedy::ProfileCounters => "add `--with-counters`",
        Remedy::ProfileThreadTrace => "add `--with-thread-trace`",
        Remedy::ProfilerOutput => "`--debug` shows what it says",
        Remedy::WithoutProfiler => {
            "a program that ignores HIP errors ends well without a GPU; `--no-rocprof` times the process"
        }
        Remedy::Timeout => "`--timeout` says how long a run may take",
        Remedy::TimeoutOrShorter => "raise `--timeout`, or profile a shorter run",
        Remedy::OtherMeasure => "install rocprofiler-sdk, or measure with `--no-rocprof` or `--metric REGEX`",
        Remedy::TimingRun => "`--timing` adds one",
        Remedy::SampleMode => "`--mode sample` needs no rewriting",
        Remedy::NameApplication => "the application follows `--`: `rocm-perf collect -- ./app ARGS`",
        Remedy::NameProgram => "`rocm-perf profile -- ./app --its --options`",
        Remedy::ServerAddress => "start the server, or give its address with `--url http://HOST:PORT`",
        Remedy::TimeoutOrFewerSteps => {
            "exports of long windows take minutes: raise `--timeout`, or profile fewer steps with `--num-steps`"
        }
        Remedy::TimeoutOrShorterRequests => "raise `--timeout`, or send shorter requests",
        Remedy::FewerSteps => {
            "its own log tells why: a profile with stacks needs much host memory, try fewer `--num-steps`"
        }
        Remedy::ServerKey => "give the key with `--api-key`, or in ROCM_PERF_API_KEY",
        Remedy::ServerFramework => "say which it is with `--framework`, and check the port",
        Remedy::StopFirst => {
            "`--stop-first` stops a profile that is running already; the server's own log says more"
        }
        Remedy::RequestLengths => {
            "the request may be too long for the model: see `--prefill-input-len` and `--decode-output-len`"
        }
        Remedy::UnfinishedFile => {
            "the server was killed or is still writing: raise `--timeout`, or look at its log and its disk"
        }
        Remedy::ServerFolder(None) => {
            "give the folder the server writes to with `--trace-dir` (and its path inside the container with \
             `--server-dir`); for vLLM it is the server's torch_profiler_dir"
        }
        Remedy::MergeKeepsEnvironment => "`rocm-perf merge --keep-environment` keeps them",
        Remedy::BuildOrSource => {
            "give `--build COMMAND`, or name the one file to compile with `--source FILE`"
        }
        Remedy::KeepEnvironment => "`--keep-environment` keeps them",
        Remedy::OtherDevice => "give another folder by `--out`, or `--force` to pass those runs over",
        Remedy::KernelSource => "name it with `--source FILE`",
        Remedy::SmallerTree => "name a smaller folder with `--tree DIR`",
        Remedy::BuildInTree => {
            "the build runs in a copy of the tree: paths in it must be relative, or inside `--tree`"
        }
        Remedy::Checker => {
            "give `--check COMMAND` or `--golden OUTPUT`, or `--unchecked` to do without, which is recorded"
        }
        Remedy::RunCommand => "give `--cmd-template './program {NAME}'`, or `run` in the space",
        Remedy::BuildCommand => {
            "give `--build-template`, or `build` in the space; measurements are made one by one"
        }
        Remedy::SqlRuleFormat => "`rocm-perf explain --help` shows what a rule looks like",
        Remedy::SeeContents => "`rocm-perf info` says what is in a trace",
        Remedy::SeeNames => {
            "`rocm-perf summary` lists names; compute, copy, communication, launch, queueing, host, sync and \
             categories such as gemm stand for themselves"
        }
        Remedy::SeeFindings => "`rocm-perf explain` shows them",
        Remedy::ShowPreset => "`rocm-perf presets show NAME --arch gfx942` prints what one runs",
    };
    text.into()
}

/// The command that looks closer at a finding.
fn look_closer(step: &NextStep, trace: &str) -> String {
    let trace = quoted(trace);
    let of_kernel = |name: &str| quoted(&format!("^{}$", regex_escaped(name)));
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
    };
    format!("rocm-perf {command} {trace}{options}")
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A name as a regular expression that matches it alone.
fn regex_escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
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
    }
}
