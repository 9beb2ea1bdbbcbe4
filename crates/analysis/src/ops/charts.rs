//! The flame graph of GPU time, and a bar chart of the modules.

use model::call_tree::{FoldedTree, NodeKind};
use model::names::display_name;
use report::chart::{Anchor, Axis, Bar, Bars, Chart, Drawing, Ink, Mark, Series, Shape};
use report::{Unit, Value, show};
use stats::percent;

use super::Ops;

const WIDTH: f64 = 1200.0;
const LINE: f64 = 18.0;
const LETTERS: f64 = 11.0;
/// Narrower boxes are left out: they are too small to hover over.
const NARROWEST: f64 = 1.0;
/// Narrower boxes have no label.
const ROOM_FOR_WORDS: f64 = 28.0;
/// Most levels below the root.
const DEEPEST: u32 = 24;
/// Most bars in the module chart.
const MOST_MODULES: usize = 24;

/// The charts that have data.
pub fn charts(ops: &Ops) -> Vec<Chart> {
    [flame_graph(ops), module_tree(ops)].into_iter().flatten().collect()
}

fn ink(kind: NodeKind) -> Ink {
    match kind {
        NodeKind::Module => Ink::Series(0),
        NodeKind::Op => Ink::Series(1),
        NodeKind::Frame => Ink::Series(2),
        NodeKind::Work => Ink::Series(3),
        NodeKind::Annotation | NodeKind::Call | NodeKind::Root => Ink::Rest,
    }
}

fn time(ns: i64) -> String {
    show(&Value::Int(ns), Unit::Ns)
}

/// Modules, ops and kernels from the top down; box width is GPU time.
fn flame_graph(ops: &Ops) -> Option<Chart> {
    let tree = &ops.tree;
    if ops.gpu_ns <= 0 {
        return None;
    }
    let folded =
        FoldedTree::of(tree, |node| matches!(node.kind, NodeKind::Module | NodeKind::Op | NodeKind::Work));
    let scale = WIDTH / ops.gpu_ns as f64;
    let mut shapes = Vec::new();
    // The left edge of the next child of each box.
    let mut next = vec![0.0f64; folded.nodes.len()];
    let mut lowest = 0;
    for place in folded.in_order() {
        let node = &folded.nodes[place as usize];
        let width = node.all.gpu_ns as f64 * scale;
        let x = next[node.parent as usize];
        if place != 0 {
            next[node.parent as usize] += width;
            next[place as usize] = x;
        }
        if width < NARROWEST || node.depth > DEEPEST {
            continue;
        }
        lowest = lowest.max(node.depth);
        let y = f64::from(node.depth) * LINE;
        let name = tree.strings.get(node.class);
        let label = match node.kind {
            NodeKind::Root => "all GPU work".to_string(),
            NodeKind::Work => display_name(name),
            NodeKind::Module if node.instances > 1 => format!("{name} ×{}", node.instances),
            _ => name.to_string(),
        };
        let share = show(&Value::Float(percent(node.all.gpu_ns, ops.gpu_ns)), Unit::Pct);
        let tip = format!("{label}\n{} of GPU time, {share}", time(node.all.gpu_ns));
        let (border, fill) = (Some(Ink::Surface), ink(node.kind));
        shapes.push(Shape::Box { x, y, width, height: LINE - 1.0, radius: 1.0, fill, border, tip });
        if width >= ROOM_FOR_WORDS {
            shapes.push(Shape::Words {
                x: x + 3.0,
                y: y + LINE - 6.0,
                text: label,
                size: LETTERS,
                anchor: Anchor::Start,
                bold: false,
                ink: if fill == Ink::Rest { Ink::Text } else { Ink::Surface },
                room: width - 6.0,
            });
        }
    }
    let height = f64::from(lowest + 1) * LINE;
    let drawing = Drawing { width: WIDTH, height, shapes };
    let chart = Chart::new("flame_graph", "GPU time by module, op and kernel", Mark::Drawing(drawing));
    Some(chart.with_description(
        "Box width is GPU time; callers are above. Siblings with one name share a box; largest on the left.",
    ))
}

/// The modules in tree order, with their own GPU time and the GPU time of their children.
fn module_tree(ops: &Ops) -> Option<Chart> {
    let places = ops.modules.in_order();
    let modules = places.iter().map(|&place| &ops.modules.nodes[place as usize]);
    let bars: Vec<Bar> = modules
        .filter(|node| node.kind == NodeKind::Module && node.all.gpu_ns > 0)
        .take(MOST_MODULES)
        .map(|node| {
            let name = ops.tree.strings.get(node.class);
            // Labels are right-aligned at the axis, so indenting with spaces would not show.
            let indent = "› ".repeat(node.depth.saturating_sub(1) as usize);
            let (own, below) = (node.own.gpu_ns, node.all.gpu_ns - node.own.gpu_ns);
            let share = show(&Value::Float(percent(node.all.gpu_ns, ops.gpu_ns)), Unit::Pct);
            Bar::new(&format!("{indent}{name}"), vec![own as f64, below as f64])
                .with_end(format!("{} · {share}", time(node.all.gpu_ns)))
                .with_tip(format!("{name}: {} in its own ops, {} in modules below", time(own), time(below)))
        })
        .collect();
    if bars.is_empty() {
        return None;
    }
    let series = vec![Series::new("own ops", 0), Series::rest("modules below")];
    let bars = Bars { series, bars, ..Bars::across() };
    let chart = Chart::new("module_tree", "GPU time of modules", Mark::Bars(bars)).with_x(Axis::of(Unit::Ns));
    Some(chart.with_description("The module tree; a module's bar includes the modules that it calls."))
}
