//! The kernel table: what each kernel costs in each stage, and where it comes from.

use report::{Column, Table, Unit, Value};
use serde_json::{Value as Json, json};
use trace::{Map, StrId};

use super::apart::{Known, distinct_names};
use super::architecture::Architecture;
use super::problem::{Problem, Problems};
use super::sites::{SiteTotals, Sites};
use crate::roofline::Roofs;
use model::Run;
use model::classify::Category;
use model::names::{self, display_name};
use model::stages::Stage;
use stats::{percent, rounded_mean};

/// The table, and what it does not show.
pub(super) struct KernelTable {
    pub table: Table,
    /// Rows below the least share.
    pub left_out: usize,
    /// Their part of all GPU time.
    pub left_out_pct: f64,
}

/// All rows of one name in one stage.
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
    fn known<'a>(&self, context: &'a Run) -> Known<'a> {
        let raw = context.trace.strings.get(self.group.name);
        let top = &self.sites[0];
        let texts = [raw, &top.cpu_op, &top.module, &top.library_frame, &top.location, &top.model_frame];
        Known {
            stage: self.group.stage,
            raw,
            display: display_name(raw),
            role: names::role(&texts),
            problem: self.problem,
            category: context.category(self.group.first),
            backend: context.class(self.group.first).map_or("unknown", |class| &*class.backend),
        }
    }

    /// Share of the roof that the kernel reaches on the inputs with most of its time.
    fn roof_pct(&self, context: &Run, roofs: &Roofs) -> Option<f64> {
        let top = &self.sites[0];
        let inputs = top.inputs.first()?;
        let text = |id| context.attribution.text(id);
        roofs.share_pct(&top.cpu_op, text(inputs.dims), text(inputs.types), inputs.calls, inputs.total_ns)
    }
}

/// One row per stage and name, by stage, then by time.
pub(super) fn kernel_table(context: &Run, min_share_pct: f64) -> KernelTable {
    let groups = groups(context);
    let mut stage_ns: Map<Stage, i64> = Map::default();
    for group in &groups {
        *stage_ns.entry(group.stage).or_default() += group.total_ns;
    }
    let total_ns: i64 = stage_ns.values().sum();
    let (mut left_out, mut left_out_ns) = (0, 0);
    let mut table = Table::new("kernel_table", "Kernels", columns());
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
    let known: Vec<Known> = shown.iter().map(|shown| shown.known(context)).collect();
    let names = distinct_names(&known);
    let roofs = Roofs::of(context.trace, Architecture::of(context.trace).observed.as_deref());
    for (shown, name) in shown.iter().zip(names) {
        table.push(row(context, shown, name, &roofs, &mut problems));
    }
    KernelTable { table, left_out, left_out_pct: percent(left_out_ns, total_ns) }
}

fn groups(context: &Run) -> Vec<Group> {
    // Generic names are of several categories: each is a row of its own.
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

fn columns() -> Vec<Column> {
    vec![
        Column::text("stage"),
        Column::text("kernel_name").data(),
        Column::text("display_name"),
        Column::text("category"),
        Column::text("classified_by").detail(),
        Column::int("total_ns", Unit::Ns),
        Column::int("calls", Unit::None),
        Column::text("mnk").normal(),
        Column::int("roof_pct", Unit::Pct).normal(),
        Column::text("backend").normal(),
        Column::int("mean_ns", Unit::Ns).detail(),
        Column::int("time_share_pct", Unit::Pct).key(),
        Column::text("source_line"),
        Column::text("cpu_op").detail(),
        Column::text("module").detail(),
        Column::text("python_location").data(),
        Column::text("mapping_source").detail(),
        Column::int("confidence", Unit::None).detail(),
        Column::int("site_share_pct", Unit::Pct).detail(),
        Column::text("sites").data(),
        Column::text("notes").detail(),
    ]
}

fn row(context: &Run, shown: &Shown, display: String, roofs: &Roofs, problems: &mut Problems) -> Vec<Value> {
    let Shown { group, share, sites, problem } = shown;
    let name = context.trace.strings.get(group.name);
    let class = context.class(group.first);
    let top = &sites[0];
    let no_shape = if top.inputs.is_empty() { "no shapes are recorded" } else { "no matrix product" };
    let no_roof = if top.inputs.is_empty() { "no shapes are recorded" } else { "its op or GPU has no model" };
    let is_product = matches!(
        context.category(group.first),
        Category::Gemm | Category::Moe | Category::Attention | Category::Conv
    );
    let known = |text: &str, why: &str| if text.is_empty() { Value::absent(why) } else { Value::from(text) };
    let why = top.why_unknown();
    vec![
        group.stage.name().into(),
        name.into(),
        Value::Text(display),
        context.category(group.first).name().into(),
        class.map_or("none", |class| class.by.name()).into(),
        Value::Int(group.total_ns),
        group.calls.into(),
        problem.filter(|_| is_product).map_or_else(|| Value::absent(no_shape), |p| Value::Text(p.short())),
        shown
            .roof_pct(context, roofs)
            .filter(|_| is_product)
            .map_or_else(|| Value::absent(no_roof), Value::Float),
        class.map_or("unknown", |class| &class.backend).into(),
        Value::Int(rounded_mean(group.total_ns, group.calls)),
        Value::Float(*share),
        known(short_frame(&top.location), why),
        known(&top.cpu_op, why),
        known(&top.module, why),
        known(&top.location, why),
        top.source_name().into(),
        Value::Float(f64::from(top.confidence_pct) / 100.0),
        Value::Float(percent(top.total_ns, group.total_ns)),
        Value::Json(sites.iter().map(|site| describe(site, group.total_ns)).collect()),
        notes(context, name, sites, problems).as_str().into(),
    ]
}

/// `…/layers/quantization/unquant.py(103): apply` as `unquant.py(103): apply`.
fn short_frame(frame: &str) -> &str {
    let path = frame.find("(").map_or(frame, |end| &frame[..end]);
    path.rfind('/').map_or(frame, |at| &frame[at + 1..])
}

fn describe(site: &SiteTotals, of_ns: i64) -> Json {
    let text = |text: &str| if text.is_empty() { Json::Null } else { Json::from(text) };
    json!({
        "python_location": text(&site.location),
        "cpu_op": text(&site.cpu_op),
        "module": text(&site.module),
        "modules": site.modules,
        "model_frame": text(&site.model_frame),
        "library_frame": text(&site.library_frame),
        "call_chain": text(&site.chain),
        "launch": text(&site.launch),
        "calls": site.calls,
        "total_ns": site.total_ns,
        "share_pct": percent(site.total_ns, of_ns),
        "mapping_source": site.source_name(),
        "confidence": f64::from(site.confidence_pct) / 100.0,
    })
}

/// What the name and the shapes tell of a matrix product, and whether the kernel has more than one site.
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
