//! The tables of ops, shapes, modules and frames.

use model::Run;
use model::call_tree::{Figures, NodeKind};
use report::{Column, Note, Remedy, Report, Table, Unit, Value};
use stats::percent;

use super::{Grouped, Ops, charts};
use crate::base;
use crate::words::duration;

/// Why the delay and the queue are absent.
const NO_LAUNCH: &str = "no launch of its work was recorded";

/// The label for work outside any module.
const NO_MODULE: &str = "(no module)";

/// The whole report.
pub fn present(run: &Run, ops: &Ops) -> Report {
    let mut report = base::report("ops", run.trace);
    report.tables = tables(ops);
    report.charts = charts(ops);
    report.notes = notes(run, ops);
    report
}

/// All tables; one that the trace has no data for is empty, and a note explains why.
pub fn tables(ops: &Ops) -> Vec<Table> {
    let mut tables =
        vec![op_table(ops), module_table(ops), module_op_table(ops), shape_table(ops), frame_table(ops)];
    for table in &mut tables {
        table.is_detail |= table.rows.is_empty() && table.name != "ops";
    }
    tables
}

/// What the share column is a share of.
#[derive(Clone, Copy)]
enum Share {
    /// Self GPU time: the shares add up.
    Own,
    /// Inclusive GPU time.
    All,
}

fn figure_columns(share: Share) -> Vec<Column> {
    let share = match share {
        Share::Own => "share_pct",
        Share::All => "gpu_share_pct",
    };
    vec![
        Column::int("calls", Unit::None),
        Column::int("self_gpu_ns", Unit::Ns).key(),
        Column::int("gpu_ns", Unit::Ns),
        Column::int("host_ns", Unit::Ns),
        Column::int(share, Unit::Pct).key(),
        Column::int("launches", Unit::None).detail(),
        Column::int("kernels", Unit::None).detail(),
        Column::int("launch_delay_ns", Unit::Ns).detail(),
        Column::int("queue_length", Unit::None).detail(),
        Column::int("backward_gpu_ns", Unit::Ns).detail(),
        Column::int("recomputed_ns", Unit::Ns).detail(),
    ]
}

struct Row<'a> {
    calls: u64,
    self_gpu_ns: i64,
    all: &'a Figures,
    recomputed_ns: i64,
    share: Share,
}

fn figures(ops: &Ops, row: &Row) -> Vec<Value> {
    let part = match row.share {
        Share::Own => row.self_gpu_ns,
        Share::All => row.all.gpu_ns,
    };
    let queue = row.all.mean_queue().map_or_else(|| Value::absent(NO_LAUNCH), Value::Float);
    vec![
        Value::Int(row.calls as i64),
        Value::Int(row.self_gpu_ns),
        Value::Int(row.all.gpu_ns),
        Value::Int(row.all.host_ns),
        Value::Float(percent(part, ops.gpu_ns)),
        Value::Int(row.all.launches as i64),
        Value::Int(row.all.work as i64),
        Value::int_or(row.all.mean_delay_ns(), NO_LAUNCH),
        queue,
        Value::Int(row.all.backward_gpu_ns),
        Value::Int(row.recomputed_ns),
    ]
}

fn grouped(ops: &Ops, row: &Grouped, share: Share) -> Vec<Value> {
    let (calls, self_gpu_ns, recomputed_ns) = (row.calls, row.self_gpu_ns, row.recomputed_ns);
    figures(ops, &Row { calls, self_gpu_ns, all: &row.all, recomputed_ns, share })
}

fn text(ops: &Ops, id: trace::StrId) -> Value {
    Value::from(ops.tree.strings.get(id))
}

/// Ops by the GPU time they launch themselves.
pub fn op_table(ops: &Ops) -> Table {
    let mut columns = vec![Column::text("name")];
    columns.extend(figure_columns(Share::Own));
    let mut table = Table::new("ops", "Ops by the GPU time that they launch themselves", columns);
    for row in &ops.ops {
        let mut cells = vec![text(ops, row.name)];
        cells.extend(grouped(ops, row, Share::Own));
        table.push(cells);
    }
    table
}

fn shape_table(ops: &Ops) -> Table {
    let mut columns = vec![Column::text("name"), Column::text("shapes"), Column::text("types").normal()];
    columns.extend(figure_columns(Share::Own));
    let mut table = Table::new("op_shapes", "Ops by shapes and types of their arguments", columns);
    let with_work = ops.shapes.iter().filter(|row| row.all.work > 0);
    // Without shapes this table would repeat the op table.
    if ops.tree.arguments.len() < 2 {
        return table;
    }
    for row in with_work {
        let arguments = ops.tree.arguments[row.arguments as usize];
        let known = |id: trace::StrId| match id.is_empty() {
            true => Value::absent("not recorded for this op"),
            false => text(ops, id),
        };
        let mut cells = vec![text(ops, row.name), known(arguments.shapes), known(arguments.types)];
        cells.extend(grouped(ops, row, Share::Own));
        table.push(cells);
    }
    table
}

fn frame_table(ops: &Ops) -> Table {
    let mut columns = vec![Column::text("frame")];
    columns.extend(figure_columns(Share::All));
    let mut table = Table::new("frames", "Python frames by the GPU time below them", columns).detail();
    let mut rows: Vec<&Grouped> = ops.frames.iter().filter(|row| row.all.work > 0).collect();
    rows.sort_by_key(|row| -row.all.gpu_ns);
    for row in rows {
        let mut cells = vec![text(ops, row.name)];
        cells.extend(grouped(ops, row, Share::All));
        table.push(cells);
    }
    table
}

/// The modules as a tree; work outside any module comes first.
pub fn module_table(ops: &Ops) -> Table {
    let mut columns = vec![
        Column::text("tree"),
        Column::text("module").data(),
        Column::text("path").data(),
        Column::int("depth", Unit::None).data(),
        Column::int("instances", Unit::None).normal(),
    ];
    columns.extend(figure_columns(Share::All));
    let mut table =
        Table::new("modules", "Modules: own GPU time, and with the modules that they call", columns);
    if !ops.tree.has(NodeKind::Module) {
        return table;
    }
    for place in ops.modules.in_order() {
        let node = &ops.modules.nodes[place as usize];
        let name = if place == 0 { NO_MODULE } else { ops.tree.strings.get(node.class) };
        let indent = "  ".repeat(node.depth.saturating_sub(1) as usize);
        let folded = if node.instances > 1 { format!(" ×{}", node.instances) } else { String::new() };
        let path: Vec<&str> = ops
            .modules
            .path(place)
            .into_iter()
            .map(|place| ops.tree.strings.get(ops.modules.nodes[place as usize].class))
            .collect();
        let mut cells = vec![
            Value::Text(format!("{indent}{name}{folded}")),
            Value::from(name),
            Value::Text(path.join(" > ")),
            Value::Int(i64::from(node.depth)),
            Value::Int(i64::from(node.instances)),
        ];
        // Work outside any module is a row of its own, not the total.
        let all = if place == 0 { &node.own } else { &node.all };
        let recomputed_ns = if place == 0 {
            let modules = ops.modules.nodes.iter().skip(1).filter(|node| node.parent == 0);
            node.recomputed_ns - modules.map(|node| node.recomputed_ns).sum::<i64>()
        } else {
            node.recomputed_ns
        };
        let (calls, self_gpu_ns) = (node.own.calls, node.own.gpu_ns);
        let all = Figures { host_ns: node.own.host_ns, backward_gpu_ns: node.own.backward_gpu_ns, ..*all };
        cells.extend(figures(ops, &Row { calls, self_gpu_ns, all: &all, recomputed_ns, share: Share::All }));
        table.push(cells);
    }
    table
}

fn module_op_table(ops: &Ops) -> Table {
    let columns = vec![
        Column::text("module"),
        Column::text("op"),
        Column::int("calls", Unit::None),
        Column::int("self_gpu_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("module_ops", "Ops by the module that calls them", columns).detail();
    if !ops.tree.has(NodeKind::Module) {
        return table;
    }
    for row in &ops.module_ops {
        table.push(vec![
            row.module.map_or_else(|| Value::from(NO_MODULE), |module| text(ops, module)),
            text(ops, row.op),
            Value::Int(row.calls as i64),
            Value::Int(row.self_gpu_ns),
            Value::Float(percent(row.self_gpu_ns, ops.gpu_ns)),
        ]);
    }
    table
}

fn notes(run: &Run, ops: &Ops) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    let tree = &ops.tree;
    let counted = ops.gpu_ns + if ops.linked { tree.unlinked_ns } else { 0 };
    if tree.unlinked > 0 {
        let share = report::show(&Value::Float(percent(tree.unlinked_ns, counted)), Unit::Pct);
        let what = match (tree.unlinked, ops.linked) {
            (1, true) => "1 kernel or copy is left out".to_string(),
            (1, false) => "1 kernel or copy has no op".to_string(),
            (count, true) => format!("{count} kernels and copies are left out"),
            (count, false) => format!("{count} kernels and copies have no op"),
        };
        let time = duration(tree.unlinked_ns);
        notes.push(format!("{what}: the launch was not recorded ({time}, {share} of GPU time)").into());
    }
    if ops.gpu_ns == 0 {
        return notes;
    }
    let replayed = run.attribution.located.graph_launch_ns;
    if replayed > 0 {
        let share =
            report::show(&Value::Float(percent(replayed, run.attribution.located.total_ns)), Unit::Pct);
        let text = format!(
            "{share} of GPU time is replayed from graphs, so its ops and modules are not in this trace"
        );
        notes.push(Note::new(text, Remedy::Mapping));
    }
    let missing = |what: &str, setting: &str| {
        Note::new(format!("the trace has no {what}"), Remedy::Advice(format!("profile with `{setting}`")))
    };
    if !tree.has(NodeKind::Op) {
        notes.push(missing("ops", "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"));
    } else if tree.arguments.len() < 2 {
        notes.push(missing("shapes of arguments", "record_shapes=True"));
    }
    match (tree.has(NodeKind::Module), tree.has(NodeKind::Frame)) {
        (false, false) => notes.push(missing("modules and Python frames", "with_stack=True")),
        (false, true) => notes.push("the trace has Python frames and no `nn.Module` among them".into()),
        (true, _) => {}
    }
    notes
}
