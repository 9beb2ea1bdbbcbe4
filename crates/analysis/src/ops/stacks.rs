//! Folded stacks: `a;b;c 123`, one line per distinct path, the input format of flame graph tools.

use std::fmt::Write;

use model::call_tree::{CallTree, NodeKind};

/// The GPU time in nanoseconds of every path from the outermost place to the kernel.
pub fn folded_stacks(tree: &CallTree) -> String {
    let mut text = String::new();
    let mut path: Vec<usize> = Vec::new();
    for (place, node) in tree.nodes.iter().enumerate() {
        if node.kind != NodeKind::Work || node.own.gpu_ns <= 0 {
            continue;
        }
        path.clear();
        path.extend(tree.path(place));
        for (level, &at) in path.iter().rev().enumerate() {
            text.push_str(if level == 0 { "" } else { ";" });
            // A semicolon ends a frame, a space before a number ends the stack.
            text.extend(tree.name(at).chars().map(|c| if c == ';' || c == '\n' { ',' } else { c }));
        }
        let _ = writeln!(text, " {}", node.own.gpu_ns);
    }
    text
}
