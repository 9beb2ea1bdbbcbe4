//! Notes of a report, each with the remedy that fixes its cause.

use std::fmt;

use crate::NextStep;

/// A note for a person: what was left out or is missing, and how to get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The text.
    pub text: String,
    /// What to do next, if something helps.
    pub remedy: Option<Remedy>,
}

/// What to do next. The command line turns it into the option to type; other front ends use their own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Advice in words that fit every front end.
    Advice(String),
    /// Look closer at a finding: the step, and the trace or folder.
    LookCloser(Box<(NextStep, String)>),
    /// Write the doctor's output for the machine to a file.
    DoctorFile,
    /// Name a trace to read.
    NameInput,
    /// Choose another place for the output.
    OtherPlace,
    /// Choose another place for the folder package.
    OtherPackage,
    /// Choose another place for the output, or overwrite it.
    OtherPlaceOrReplace,
    /// Give a capture trace or a graph-off trace, which shows where replayed kernels come from.
    Mapping,
    /// Give the trace of the run; the given capture trace only locates its kernels.
    CaptureIsMapping,
    /// Give rules for kernel names, which classify more kernels.
    KernelRules,
    /// Show kernels of any share.
    AllShares,
    /// Look at another rank.
    OtherRank,
    /// Look at one of several markers by its time, rank or process.
    OneMarker,
    /// Give a share or a time from the start, or select recordings on one clock.
    OneClock,
    /// Look at one host at a time.
    OneHost,
    /// Keep rows that only touch the window.
    Overlapping,
    /// Show every segment of the path in its own row.
    AllSegments,
    /// How to write a prediction.
    WhatIf,
    /// Read Python frames too.
    PythonFrames,
    /// Compare several runs of each side.
    Repeats,
    /// Compare calls, not totals.
    CompareCalls,
    /// Compare runs that were made differently.
    CompareAnyway,
    /// Treat runs as comparable when nothing shows that they are.
    AssumeComparable,
    /// Give a gate several runs of each side, or let the change itself decide.
    GateInterval,
    /// List the counters that a roofline needs.
    RooflineCounters,
    /// Name the architecture.
    Arch,
    /// Give the architecture and the registers of a kernel if there is no input.
    ArchAndRegisters,
    /// Give the registers of a kernel if there is no input.
    Registers,
    /// Omit registers and wave size, which the input already has.
    NoRegisters,
    /// Omit the LDS, which a trace has for each launch.
    NoLds,
    /// Choose kernels of a code object by name, and by nothing else.
    KernelNameOnly,
    /// Give code objects, which have the exact register counts.
    CodeObject,
    /// Give a fact about the GPU: its name.
    GpuFact(String),
    /// List kernels and dispatches with their ids.
    ListKernels,
    /// List panels and metrics.
    ListPanels,
    /// Collect the counters of these panels.
    PanelCounters(String),
    /// Show everything, in the format for programs.
    Everything,
    /// Collect these counters; how often the application has to run, as text.
    CollectCounters {
        /// Their names.
        names: Vec<String>,
        /// Such as `in 2 passes`.
        passes: String,
    },
    /// Profile with counters.
    ProfileCounters,
    /// Profile with a thread trace.
    ProfileThreadTrace,
    /// Show all output of the profiler.
    ProfilerOutput,
    /// Time the process without the profiler.
    WithoutProfiler,
    /// Time the process, or show a simulated profile; or install the profiler, with instructions.
    NoProfiler(String),
    /// Allow more time.
    Timeout,
    /// Allow more time, or record less.
    TimeoutOrShorter,
    /// Measure without the profiler, or use a number that the program prints.
    OtherMeasure,
    /// Add a run without counters.
    TimingRun,
    /// Sample instead of rewriting the program.
    SampleMode,
    /// How to name the application.
    NameApplication,
    /// How to name the program to profile.
    NameProgram,
    /// Start the server, or give its address.
    ServerAddress,
    /// Allow more time, or profile fewer steps.
    TimeoutOrFewerSteps,
    /// Allow more time, or send shorter requests.
    TimeoutOrShorterRequests,
    /// Profile fewer steps.
    FewerSteps,
    /// Give the server's key.
    ServerKey,
    /// Name the framework that the server runs.
    ServerFramework,
    /// First stop the profile that is running.
    StopFirst,
    /// Send shorter requests.
    RequestLengths,
    /// Wait longer for a file that the server is still writing, or see why it stopped.
    UnfinishedFile,
    /// Give the folder that the server writes to: where it wrote, if known.
    ServerFolder(Option<String>),
    /// Convert this file to rocpd first.
    ConvertToRocpd(String),
    /// Create a lake from traces.
    MakeLake,
    /// Put the traces into this lake.
    AddToLake(String),
    /// Choose a part of a lake in SQL.
    LakeInSql,
    /// Build the program with an engine for lakes.
    LakeEngine,
    /// List what is wrong with a lake.
    CheckLake,
    /// Start a cluster.
    StartCluster,
    /// Install the cluster client.
    ClusterClient,
    /// Keep the environments.
    KeepEnvironment,
    /// Merge instead, which can keep the environments.
    MergeKeepsEnvironment,
    /// Search in another folder, or ignore the runs of the other device.
    OtherDevice,
    /// Name the file with the kernel.
    KernelSource,
    /// Give the build command, or name the one file to compile.
    BuildOrSource,
    /// Name a smaller source tree.
    SmallerTree,
    /// Paths of the build must be in the tree.
    BuildInTree,
    /// Give a checker, or go without one.
    Checker,
    /// Allow the rule to change compiler options.
    AllowFlags(String),
    /// Allow the rule to change results in the last digits.
    AllowFastMath(String),
    /// Apply the change to the source: where the patch is.
    Apply(String),
    /// Give the command to measure.
    RunCommand,
    /// Give the build command.
    BuildCommand,
    /// Show what an SQL rule looks like.
    SqlRuleFormat,
    /// Show what is in a trace.
    SeeContents,
    /// Show the names in a trace.
    SeeNames,
    /// Show all findings.
    SeeFindings,
    /// Show what a preset runs.
    ShowPreset,
    /// Pass variables that may hold keys to programs.
    PassEnvironment,
    /// Build and run proposals without a sandbox.
    NoSandbox,
    /// Follow links out of a folder.
    FollowLinks,
    /// Read this folder.
    ReadFolder(String),
}

impl Note {
    /// A note with a remedy.
    pub fn new(text: impl Into<String>, remedy: Remedy) -> Self {
        Self { text: text.into(), remedy: Some(remedy) }
    }

    /// The note with its remedy in a front end's words; without one if it has no words for it.
    pub fn spoken(self, words: &dyn Fn(&Remedy) -> Option<String>) -> Self {
        let said = self.remedy.as_ref().and_then(|remedy| match remedy {
            Remedy::Advice(text) => Some(text.clone()),
            other => words(other),
        });
        match said {
            Some(said) => Self { text: format!("{} ({said})", self.text), remedy: None },
            None => Self { remedy: None, ..self },
        }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self { text, remedy: None }
    }
}

impl From<&str> for Note {
    fn from(text: &str) -> Self {
        Self::from(text.to_string())
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Remedy::Advice(text.into())
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Remedy::Advice(text)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A note dereferences to its text.
impl std::ops::Deref for Note {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq<str> for Note {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl PartialEq<&str> for Note {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_says_a_remedy_in_its_own_words_or_not_at_all() {
        let note = Note::new("8 kernels are left out", Remedy::AllShares);
        let words = |remedy: &Remedy| (*remedy == Remedy::AllShares).then(|| "min_share=0".to_string());
        assert_eq!(note.clone().spoken(&words), "8 kernels are left out (min_share=0)");
        assert_eq!(note.spoken(&|_| None), "8 kernels are left out");
    }

    #[test]
    fn advice_needs_no_words_of_a_door() {
        let note = Note::new("it is empty", Remedy::from("collect it again"));
        assert_eq!(note.spoken(&|_| None), "it is empty (collect it again)");
    }
}
