//! The cost of each kernel in each stage, and where it comes from.

use trace::{Map, StrId};

use super::apart::{RowIdentity, distinct_names};
use super::problem::{Problem, Problems};
use super::sites::{SiteTotals, Sites};
use crate::kernels::roofline::Roofs;
use crate::subject::Architecture;
use model::Run;
use model::classify::Category;
use model::names::{self, display_name};
use model::stages::Stage;
use stats::{percent, rounded_mean};

/// The cost of one kernel in one stage, and where it comes from.
#[derive(Clone, Debug)]
pub struct KernelRow {
    /// The stage.
    pub stage: Stage,
    /// Its name in the trace.
    pub kernel_name: String,
    /// A short name, unique within the stage.
    pub display_name: String,
    /// What the kernel does.
    pub category: Category,
    /// How the category was found.
    pub classified_by: &'static str,
    /// The library it comes from.
    pub backend: String,
    /// Time of all calls.
    pub total_ns: i64,
    /// Calls.
    pub calls: usize,
    /// Share of the stage's GPU time.
    pub time_share_pct: f64,
    /// Size of the matrix product with the most time, or why there is none.
    pub mnk: Result<String, &'static str>,
    /// Share of the roof that it reaches with that size, or why that is not known.
    pub roof_pct: Result<f64, &'static str>,
    /// Places it comes from, most time first; at least one.
    pub sites: Vec<SiteTotals>,
    /// Further facts from its name and shapes.
    pub notes: String,
}

impl KernelRow {
    /// The place with the most time.
    pub fn top_site(&self) -> &SiteTotals {
        &self.sites[0]
    }

    /// Mean time of a call.
    pub fn mean_ns(&self) -> i64 {
        rounded_mean(self.total_ns, self.calls)
    }
}

/// Kernels that are too small for a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SmallKernels {
    /// Number of kernels.
    pub count: usize,
    /// Share of all GPU time.
    pub share_pct: f64,
}

/// All rows with one name in one stage.
struct Group {
    stage: Stage,
    name: StrId,
    total_ns: i64,
    calls: usize,
    first: trace::RowRef,
    sites: Sites,
}

/// A group that has a row of its own.
struct Shown {
    group: Group,
    share: f64,
    sites: Vec<SiteTotals>,
    problem: Option<Problem>,
}

impl Shown {
    fn known<'a>(&self, context: &'a Run) -> RowIdentity<'a> {
        let raw = context.trace.strings.get(self.group.name);
        let top = &self.sites[0];
        let texts = [raw, &top.cpu_op, &top.module, &top.library_frame, &top.location, &top.model_frame];
        RowIdentity {
            stage: self.group.stage,
            raw,
            display: display_name(raw),
            role: names::role(&texts),
            problem: self.problem,
            category: context.category(self.group.first),
            backend: context.class(self.group.first).map_or("unknown", |class| &*class.backend),
        }
    }

    /// Share of the roof that the kernel reaches on the inputs with the most of its time.
    fn roof_pct(&self, context: &Run, roofs: &Roofs) -> Option<f64> {
        let top = &self.sites[0];
        let inputs = top.inputs.first()?;
        let text = |id| context.attribution.text(id);
        roofs.share_pct(&top.cpu_op, text(inputs.dims), text(inputs.types), inputs.calls, inputs.total_ns)
    }
}

/// One row per stage and name, sorted by stage, then by time; and the kernels below the minimum share.
pub(super) fn kernel_rows(context: &Run, min_share_pct: f64) -> (Vec<KernelRow>, SmallKernels) {
    let groups = groups(context);
    let mut stage_ns: Map<Stage, i64> = Map::default();
    for group in &groups {
        *stage_ns.entry(group.stage).or_default() += group.total_ns;
    }
    let total_ns: i64 = stage_ns.values().sum();
    let (mut left_out, mut left_out_ns) = (0, 0);
    let mut problems = Problems::default();
    let mut shown = Vec::new();
    for mut group in groups {
        let share = percent(group.total_ns, stage_ns[&group.stage]);
        if share < min_share_pct {
            left_out += 1;
            left_out_ns += group.total_ns;
            continue;
        }
        let sites = std::mem::take(&mut group.sites).merged(context);
        let problem = problems.main(context, &sites);
        shown.push(Shown { group, share, sites, problem });
    }
    let known: Vec<RowIdentity> = shown.iter().map(|shown| shown.known(context)).collect();
    let names = distinct_names(&known);
    let roofs = Roofs::of(context.trace, Architecture::of(context.trace).observed.as_deref());
    let named = shown.into_iter().zip(names);
    let rows = named.map(|(shown, name)| row(context, shown, name, &roofs, &mut problems)).collect();
    (rows, SmallKernels { count: left_out, share_pct: percent(left_out_ns, total_ns) })
}

fn groups(context: &Run) -> Vec<Group> {
    // A generic name may have several categories: each gets its own row.
    let mut places: Map<(Stage, StrId, Category, &str), usize> = Map::default();
    let mut groups: Vec<Group> = Vec::new();
    for &row in &context.rows {
        let (stage, name) = (context.stage(row), context.name(row));
        let class = context.class(row);
        let what = (context.category(row), class.map_or("", |class| &*class.backend));
        let place = *places.entry((stage, name, what.0, what.1)).or_insert_with(|| {
            groups.push(Group { stage, name, total_ns: 0, calls: 0, first: row, sites: Sites::default() });
            groups.len() - 1
        });
        let (group, duration) = (&mut groups[place], context.duration(row));
        group.total_ns += duration;
        group.calls += 1;
        group.sites.add(context.attribution.site_of(row), duration);
    }
    let text = |group: &Group| context.trace.strings.get(group.name);
    groups
        .sort_by(|a, b| (a.stage, b.total_ns).cmp(&(b.stage, a.total_ns)).then_with(|| text(a).cmp(text(b))));
    groups
}

fn row(
    context: &Run,
    shown: Shown,
    display_name: String,
    roofs: &Roofs,
    problems: &mut Problems,
) -> KernelRow {
    let category = context.category(shown.group.first);
    let class = context.class(shown.group.first);
    let has_shapes = !shown.sites[0].inputs.is_empty();
    let no_shape = if has_shapes { "no matrix product" } else { "no shapes are recorded" };
    let no_roof = if has_shapes { "its op or GPU has no model" } else { "no shapes are recorded" };
    let is_product =
        matches!(category, Category::Gemm | Category::Moe | Category::Attention | Category::Conv);
    let kernel_name = context.trace.strings.get(shown.group.name).to_string();
    KernelRow {
        stage: shown.group.stage,
        notes: notes(context, &kernel_name, &shown.sites, problems),
        kernel_name,
        display_name,
        category,
        classified_by: class.map_or("none", |class| class.by.name()),
        backend: class.map_or("unknown", |class| &class.backend).to_string(),
        total_ns: shown.group.total_ns,
        calls: shown.group.calls,
        time_share_pct: shown.share,
        mnk: shown.problem.filter(|_| is_product).map(|problem| problem.short()).ok_or(no_shape),
        roof_pct: shown.roof_pct(context, roofs).filter(|_| is_product).ok_or(no_roof),
        sites: shown.sites,
    }
}

/// Facts about a matrix product from name and shapes, and whether the kernel has more than one site.
fn notes(context: &Run, name: &str, sites: &[SiteTotals], problems: &mut Problems) -> String {
    let mut notes = Vec::new();
    if let Some(facts) = names::gemm(name) {
        if let Some([m, n, k]) = facts.tile {
            notes.push(format!("tile {m}x{n}x{k}"));
        }
        match (facts.input, facts.output, facts.compute) {
            (Some(input), Some(output), Some(compute)) => {
                notes.push(format!("{input} to {output}, sums in {compute}"))
            }
            (Some(input), ..) => notes.push(input.to_string()),
            _ => notes.extend(facts.types.map(|types| format!("types {types}"))),
        }
        notes.extend(facts.transposes.map(|transposes| format!("layout {transposes}")));
        notes.extend(facts.split_k.map(|split| format!("split-K {split}")));
        if facts.stream_k {
            notes.push("stream-K".into());
        }
    }
    notes.extend(problems.note(context, sites));
    if sites.len() > 1 {
        notes.push(format!("{} sites", sites.len()));
    }
    notes.join("; ")
}
