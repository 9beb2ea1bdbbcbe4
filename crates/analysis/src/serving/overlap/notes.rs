//! Notes on what one trace cannot show.

use super::opportunities::Analysed;
use super::rules::WorkKind;
use model::Run;
use model::attribution::Source;
use report::{Note, Remedy};

pub(super) fn notes(context: &Run, devices: &[Analysed]) -> Vec<Note> {
    let work = || devices.iter().flat_map(|analysed| &analysed.device.work);
    let mut notes = Vec::new();
    if work().next().is_none() {
        return vec!["no GPU work is in the trace, so there is nothing to overlap".into()];
    }
    let several: Vec<&Analysed> = devices.iter().filter(|d| d.device.streams.len() > 1).collect();
    let launches = devices.iter().any(|d| d.knowledge.launched > 0);
    if several.is_empty() {
        notes.push(
            "all GPU work is on one stream, so this trace cannot show what could run in parallel".into(),
        );
    }
    if !launches {
        notes.push(
            "the trace has no launches (GPU only), so the order that the program requested is not known"
                .into(),
        );
    } else if let Some(analysed) = several.first() {
        let known = &analysed.knowledge;
        if known.records == 0 && known.waits == 0 {
            notes.push("no events are in the trace: the order between streams is not known".into());
        } else if known.unresolved > 0 {
            let (lost, all) = (known.unresolved, known.waits);
            notes.push(
                format!(
                    "{lost} of {all} event waits do not record their streams, so the order between streams is not known"
                )
                .into(),
            );
        }
    }
    if work().any(|work| work.replayed) {
        let lost = work().filter(|w| w.replayed && context.site(w.row).source == Source::GraphLaunch).count();
        if lost > 0 {
            notes.push(Note::new(
                format!(
                    "{lost} kernels were replayed from graphs and are located at the graph's launch only"
                ),
                Remedy::Mapping,
            ));
        }
        if devices.iter().all(|analysed| analysed.device.replays_on_one_stream) {
            notes.push(
                "the graphs were replayed on one stream: overlap has to be captured into the graph, on a second stream"
                    .into(),
            );
        }
    }
    let mut steps: Vec<u32> = context.stages.steps.iter().map(|step| step.number).collect();
    steps.dedup();
    if steps.len() == 1 {
        notes.push(
            "the trace has only one step, so it cannot show what could overlap with the next step".into(),
        );
    }
    if work().any(|work| work.kind == WorkKind::Communication) {
        notes.push(
            "time in a collective includes waiting for the slowest rank, which no overlap on this rank wins back".into(),
        );
    }
    notes
}
