//! Notes of a report, each with the remedy that makes it go away.

use std::fmt;

use crate::NextStep;

/// A remark for a person: what was left out or is missing, and what to ask for to get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// What there is to say.
    pub text: String,
    /// What to ask for next, if something helps.
    pub remedy: Option<Remedy>,
}

/// What to ask for. The command line turns it into the option to type; other doors into their own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Advice in words that are right at every door.
    Advice(String),
    /// Look closer at what a finding is about: how, and at which trace or folder.
    LookCloser(Box<(NextStep, String)>),
    /// Write what the doctor says of the machine to a file.
    DoctorFile,
    /// Name a trace to read.
    NameInput,
    /// Choose another place for the output.
    OtherPlace,
    /// Choose another place for the folder package.
    OtherPackage,
    /// Choose another place for the output, or replace what is there.
    OtherPlaceOrReplace,
    /// Give a capture trace or a graph-off trace, which tells where replayed kernels come from.
    Mapping,
    /// Give the trace of the run; the capture trace that was given only locates its kernels.
    CaptureIsMapping,
    /// Rules for kernel names, which name more kernels.
    KernelRules,
    /// Show kernels of any share.
    AllShares,
    /// Look at another rank.
    OtherRank,
    /// Look at one of several markers by its time, rank or process.
    OneMarker,
    /// Give a share or a time from the start, or look at recordings of one clock.
    OneClock,
    /// Look at one host at a time.
    OneHost,
    /// Keep what only touches the window.
    Overlapping,
    /// Give every segment of the path its row.
    AllSegments,
    /// How a prediction is written.
    WhatIf,
    /// Read Python frames too.
    PythonFrames,
    /// Compare several runs of each side.
    Repeats,
    /// Compare calls, not totals.
    CompareCalls,
    /// Compare runs that were made differently.
    CompareAnyway,
    /// Take runs for comparable that do not show it.
    AssumeComparable,
    /// Give a gate several runs of each side, or let the change itself decide.
    GateInterval,
    /// List the counters that a roofline needs.
    RooflineCounters,
    /// Say which architecture it is.
    Arch,
    /// Give the architecture and the registers of a kernel, where there is no input.
    ArchAndRegisters,
    /// Give the registers of a kernel, where there is no input.
    Registers,
    /// Leave out registers and wave size, which an input brings along.
    NoRegisters,
    /// Leave out the LDS, which a trace has of each launch.
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
    /// See everything, in the form for programs.
    Everything,
    /// Collect these counters; the times the application has to run, in words.
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
    /// See all that the profiler prints.
    ProfilerOutput,
    /// Time the process without the profiler.
    WithoutProfiler,
    /// Time the process, or see a simulated profile; or install the profiler, in words.
    NoProfiler(String),
    /// Allow more time.
    Timeout,
    /// Allow more time, or record less.
    TimeoutOrShorter,
    /// Measure without the profiler, or by a number that the program prints.
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
    /// Say which framework the server runs.
    ServerFramework,
    /// Stop the profile that is running first.
    StopFirst,
    /// Send shorter requests.
    RequestLengths,
    /// Wait longer for a file that the server is still writing, or see why it stopped.
    UnfinishedFile,
    /// Give the folder that the server writes to: where it wrote, if that is known.
    ServerFolder(Option<String>),
    /// Convert this file to rocpd first.
    ConvertToRocpd(String),
    /// Make a lake of traces.
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
    /// Install the client of clusters.
    ClusterClient,
    /// Keep the environments.
    KeepEnvironment,
    /// Merge, which can keep the environments.
    MergeKeepsEnvironment,
    /// Search in another folder, or pass over the runs of the other device.
    OtherDevice,
    /// Name the file with the kernel.
    KernelSource,
    /// Give the command that builds, or name the one file to compile.
    BuildOrSource,
    /// Name a smaller source tree.
    SmallerTree,
    /// Paths of the build must lie in the tree.
    BuildInTree,
    /// Give a checker, or do without one.
    Checker,
    /// Allow the rule to change compiler options.
    AllowFlags(String),
    /// Allow the rule to change results in the last digits.
    AllowFastMath(String),
    /// Change the source: where the patch is.
    Apply(String),
    /// Give the command to measure.
    RunCommand,
    /// Give the command that builds.
    BuildCommand,
    /// See what an SQL rule looks like.
    SqlRuleFormat,
    /// See what is in a trace.
    SeeContents,
    /// See the names in a trace.
    SeeNames,
    /// See all findings.
    SeeFindings,
    /// See what a preset runs.
    ShowPreset,
    /// Let programs have variables that hold keys.
    PassEnvironment,
    /// Build and run proposals without a sandbox.
    NoSandbox,
    /// Follow links out of a folder.
    FollowLinks,
    /// Read this folder.
    ReadFolder(String),
}

impl Note {
    /// A remark with what to ask for.
    pub fn new(text: impl Into<String>, remedy: Remedy) -> Self {
        Self { text: text.into(), remedy: Some(remedy) }
    }

    /// The same with the remedy in words, as this door says it; without one where it has no words for it.
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

/// A note reads as its text.
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
