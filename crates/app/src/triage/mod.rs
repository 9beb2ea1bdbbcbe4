//! Which kernels cost most and where they come from, what could overlap and what could be fused.

mod artifacts;
mod files;

use std::path::PathBuf;

use analysis::RooflineOptions;
use analysis::filters::Filters;
use analysis::kernels::efficiency::{self, Standings};
use analysis::serving::triage::{Triage, artifacts};
use model::stages::Stage;
use model::{NothingSelected, Selection};
use report::{Note, Remedy, Report};

use self::artifacts::ServerArgs;
use self::files::Run;
use crate::causes::for_target;
use crate::failure::Failure;
use crate::input::{classifier, input_facts, mark};
use crate::observer::Observer;
use crate::threads::give_back;

pub use self::artifacts::{Folder, ProfileFacts, artifact_files};
pub use analysis::subject::{TARGET_ARCH, framework_named};

/// The tables of the triage; artifacts are written on request.
pub fn triage(request: &TriageRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    request.answer(observer)
}

/// What to triage, and how.
#[derive(Clone, Debug, Default)]
pub struct TriageRequest {
    /// Files and folders.
    pub inputs: Vec<PathBuf>,
    /// Files and folders that locate replayed kernels.
    pub mapping: Vec<PathBuf>,
    /// The rank to look at.
    pub rank: Option<u32>,
    /// The stage to look at.
    pub stage: Option<Stage>,
    /// Other filters.
    pub part: Filters,
    /// Whether to leave out the first steps.
    pub skip_warm_up: bool,
    /// Least share of a row, in percent.
    pub min_share: f64,
    /// Rules for kernel names.
    pub rules: Option<PathBuf>,
    /// The framework, if given.
    pub framework: Option<&'static str>,
    /// What is known about the profile.
    pub profile: ProfileFacts,
    /// Where artifacts go, if anywhere.
    pub folder: Option<Folder>,
}

impl TriageRequest {
    /// A triage with default options.
    pub fn new(inputs: Vec<PathBuf>) -> Self {
        Self { inputs, min_share: 1.0, ..Self::default() }
    }

    fn answer(&self, observer: &dyn Observer) -> Result<Report, Failure> {
        let classifier = classifier(self.rules.as_ref())?;
        self.folder.as_ref().map_or(Ok(()), Folder::check)?;
        let run = Run::find(&self.inputs, &self.mapping, self.rank, observer)?;
        let (mut trace, mapping) = run.read(&self.part, observer)?;
        let part = mark(&self.part, &mut trace, &|| classifier.clone())?;
        let context = model::Run::new(&trace, mapping.as_deref(), &classifier, self.min_share);
        let context = context.map_err(|error| {
            Failure::input(error.to_string())
                .with_help("the mapping trace must be of the same model, run with the same kernels")
        })?;
        let mut context = context.with_stage_patterns(&self.part.stage_patterns);
        // The rest of the trace still shows where the part comes from.
        if let Some(part) = &part {
            context.rows.retain(|&row| part.wants_work(&trace, row));
        }
        let (notes, server_args) = self.select(&run, &mut context)?;
        // Gains and time split do not depend on each other.
        let ((found, mut report), (accounts, standings, split)) = rayon::join(
            || tables(&context, notes),
            || {
                let (accounts, standings) = rayon::join(
                    || analysis::causes::idle::compute(&context),
                    || Standings::of(&context, &RooflineOptions::default()),
                );
                let split = efficiency::compute_under(&context, &accounts, &standings);
                (accounts, standings, split)
            },
        );
        let target = for_target(&self.profile.target_arch);
        report.verdict =
            Some(analysis::causes::verdict::compute(&context, &accounts, &report.findings, &target));
        report.tables.push(efficiency::waterfall(&split));
        if let Some(mapping) = &mapping {
            report.inputs.extend(input_facts(mapping));
        }
        if let Some(folder) = &self.folder {
            let told = self.profile.told(folder, &run.formal, server_args, self.stage)?;
            let files = artifacts(&context, &found, &report, &told)
                .map_err(|wrong| Failure::input(format!("the metadata is wrong: {wrong}")))?;
            report.notes.push(folder.write(&files, &run.formal, observer)?.into());
        }
        give_back(context);
        give_back((trace, mapping, accounts, standings, found));
        Ok(report)
    }

    /// Restricts a run to the selection; returns notes on that and the arguments of its server.
    fn select(
        &self,
        run: &Run,
        context: &mut model::Run,
    ) -> Result<(Vec<Note>, Option<ServerArgs>), Failure> {
        let selection = Selection { rank: run.rank, stage: self.stage, skip_warm_up: self.skip_warm_up };
        let server_args = self.profile.server_args(&run.formal)?;
        context.program = self.profile.program(self.framework, server_args.as_ref());
        let notes = context.select(&selection).map_err(|nothing| nothing_left(&nothing, run))?;
        let notes = run.notes.iter().cloned().chain(notes.into_iter().map(Note::from)).collect();
        Ok((notes, server_args))
    }

    /// Triages a run that was already read, all of it, without a verdict; `None` if triage would choose among
    /// files or leave something out, so that it must read the files itself.
    pub(crate) fn of_read_run(
        &self,
        context: &mut model::Run,
        observer: &dyn Observer,
    ) -> Result<Option<Report>, Failure> {
        if self.stage.is_some() || self.rank.is_some() || !self.part.is_empty() || self.inputs.len() != 1 {
            return Ok(None);
        }
        let run = Run::find(&self.inputs, &self.mapping, self.rank, observer)?;
        if run.formal != self.inputs || !run.mapping.is_empty() {
            return Ok(None);
        }
        context.min_share_pct = self.min_share;
        let (notes, _) = self.select(&run, context)?;
        Ok(Some(tables(context, notes).1))
    }
}

/// What triage finds in a run, and its tables.
fn tables(context: &model::Run, notes: Vec<Note>) -> (Triage, Report) {
    let found = analysis::serving::triage::compute(context);
    let mut report = analysis::serving::triage::present(context, &found);
    report.notes.splice(0..0, notes);
    (found, report)
}

fn nothing_left(nothing: &NothingSelected, run: &Run) -> Failure {
    let failure = Failure::input(nothing.to_string());
    match nothing {
        NothingSelected::NoGpuWork { .. } if run.is_capture => failure.with_help(Remedy::CaptureIsMapping),
        NothingSelected::NoGpuWork { .. } => {
            failure.with_help("profile with GPU activities on (torch: ProfilerActivity.CUDA, also on ROCm)")
        }
        NothingSelected::NotInStage { .. } => failure,
    }
}
