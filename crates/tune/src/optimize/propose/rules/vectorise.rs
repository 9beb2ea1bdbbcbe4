//! Vectorised loads: a counted loop that reads `x[i]` element by element reads 16 bytes at once while the
//! address is aligned, and the rest as before. All operations stay in order, so results are bit-identical.
//!
//! The conditions are checked on the tree (`body`): no jumps, no unknown calls, nothing conditional around
//! the load, and no store that may alias what is read ahead.

mod body;

use tree_sitter::Node;

use super::{Header, Proposal, Site};
use crate::optimize::source::{Pointer, Source, visit};
use body::Body;

/// Element types, their 16-byte vector, and the number of elements in it.
const VECTORS: &[(&str, &str, usize)] = &[
    ("float", "float4", 4),
    ("int", "int4", 4),
    ("unsigned int", "uint4", 4),
    ("unsigned", "uint4", 4),
    ("double", "double2", 2),
];
const BYTES: usize = 16;
const PARTS: [&str; 4] = ["x", "y", "z", "w"];
/// Types of loop counters.
const COUNTERS: &[&str] = &[
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "unsigned long",
    "size_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
];

/// `for (T i = start; i < end; ++i) body`
struct CountedLoop<'t> {
    whole: Node<'t>,
    counter: &'t str,
    kind: &'t str,
    start: Node<'t>,
    end: Node<'t>,
    body: Node<'t>,
}

/// A load that can be widened.
struct Wide<'t> {
    pointer: Pointer,
    vector: &'static str,
    elements: usize,
    /// The index of all its loads.
    index: Node<'t>,
    loads: Vec<Node<'t>>,
    /// Whether the index is only the counter.
    plain: bool,
}

pub(super) fn vectorised_loads(site: &Site) -> Vec<Proposal> {
    let Some(kernel) = site.source.body(site.kernel) else { return Vec::new() };
    let loops = site.source.loops(site.kernel);
    let mut proposals = Vec::new();
    for one in loops.iter().filter(|one| one.innermost && one.pragma.is_none()) {
        let Some(node) = for_at(kernel, one.start) else { continue };
        let Some(counted) = counted(site.source, node) else { continue };
        let Some(loads) = widened(site, kernel, &counted) else { continue };
        let names: Vec<String> = loads.iter().map(|load| format!("`{}`", load.pointer.name)).collect();
        let description =
            format!("read {} in {BYTES}-byte vectors in the loop in line {}", names.join(", "), one.line);
        let mut text = site.source.text.clone();
        let indent = indent(&site.source.text, node.start_byte());
        text.replace_range(node.byte_range(), &rewritten(site.source, &counted, &loads, &indent));
        proposals.push(site.proposal("vectorised_loads", &one.key, description, text, Header::Identical));
    }
    proposals
}

fn for_at(kernel: Node, start: usize) -> Option<Node> {
    let mut found = None;
    visit(kernel, &mut |node| {
        if node.kind() == "for_statement" && node.start_byte() == start {
            found = Some(node);
        }
        found.is_none()
    });
    found
}

fn indent(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
    text[line..at].chars().take_while(|c| c.is_whitespace()).collect()
}

fn counted<'t>(source: &'t Source, node: Node<'t>) -> Option<CountedLoop<'t>> {
    let declaration = node.child_by_field_name("initializer").filter(|one| one.kind() == "declaration")?;
    let kind = source.text(declaration.child_by_field_name("type")?);
    let one = declaration.child_by_field_name("declarator").filter(|one| one.kind() == "init_declarator")?;
    let name = one.child_by_field_name("declarator").filter(|name| name.kind() == "identifier")?;
    let (counter, start) = (source.text(name), one.child_by_field_name("value")?);
    let alone = declaration.named_child_count() == 2
        && COUNTERS.contains(&kind)
        && start.kind() != "initializer_list";
    let condition = node.child_by_field_name("condition").filter(|one| one.kind() == "binary_expression")?;
    let below = source.text(condition.child_by_field_name("left")?) == counter
        && source.text(condition.child_by_field_name("operator")?) == "<";
    let end = condition.child_by_field_name("right")?;
    let update: String = source.text(node.child_by_field_name("update")?).split_whitespace().collect();
    let by_one = [format!("++{counter}"), format!("{counter}++"), format!("{counter}+=1")].contains(&update);
    let body = node.child_by_field_name("body")?;
    (alone && below && by_one).then_some(CountedLoop { whole: node, counter, kind, start, end, body })
}

/// The loads of a loop that can be widened; `None` if that is uncertain.
fn widened<'t>(site: &Site<'t>, kernel: Node<'t>, counted: &CountedLoop<'t>) -> Option<Vec<Wide<'t>>> {
    let source = site.source;
    let body = Body::of(source, counted.body)?;
    let changed = |name: &str| name == counted.counter || body.changes(name);
    if body.changes(counted.counter) || hides_code(source, counted.whole) {
        return None;
    }
    if !body::is_fixed(source, counted.end, &changed, body.stores.is_empty()) {
        return None;
    }
    let mut wide: Vec<Wide> = Vec::new();
    for pointer in site.source.pointers(site.kernel) {
        let Some((_, vector, elements)) = VECTORS.iter().find(|(name, ..)| *name == pointer.pointee) else {
            continue;
        };
        let safe = body.stores.is_empty() || (pointer.constant && pointer.restricted);
        let taken = [&pointer.name, counted.counter]
            .iter()
            .any(|name| is_named(source, kernel, &format!("{name}_vec")));
        if !safe
            || pointer.volatile
            || taken
            || body.changes(&pointer.name)
            || is_declared(source, kernel, &pointer.name)
        {
            continue;
        }
        let mut loads: Vec<Node> = Vec::new();
        let mut index: Option<Node> = None;
        for load in body.loads.iter().filter(|load| load.array == pointer.name && load.always) {
            let same = index.is_none_or(|index| source.text(index) == source.text(load.index));
            if same && consecutive(source, load.index, counted.counter, &changed) {
                index = Some(load.index);
                loads.push(load.node);
            }
        }
        let others = wide.first().map(|first| first.elements);
        if let Some(index) = index.filter(|_| others.is_none_or(|others| others == *elements)) {
            let plain = index.kind() == "identifier";
            wide.push(Wide { pointer, vector, elements: *elements, index, loads, plain });
        }
    }
    (!wide.is_empty()).then_some(wide)
}

/// Whether an index is the counter plus a constant.
fn consecutive(source: &Source, index: Node, counter: &str, changed: &dyn Fn(&str) -> bool) -> bool {
    match index.kind() {
        "identifier" => source.text(index) == counter,
        "parenthesized_expression" => {
            index.named_child(0).is_some_and(|inner| consecutive(source, inner, counter, changed))
        }
        "binary_expression" => {
            let part = |field| index.child_by_field_name(field);
            let (Some(left), Some(right), Some(operator)) = (part("left"), part("right"), part("operator"))
            else {
                return false;
            };
            let fixed = |node| body::is_fixed(source, node, changed, false);
            let counts = |node| consecutive(source, node, counter, changed);
            match source.text(operator) {
                "+" => counts(left) && fixed(right) || fixed(left) && counts(right),
                "-" => counts(left) && fixed(right),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether a macro other than a plain number is used: it may hide anything.
fn hides_code(source: &Source, node: Node) -> bool {
    let macros: Vec<String> = source
        .macros()
        .into_iter()
        .filter(|one| one.parameters || one.value.parse::<f64>().is_err())
        .map(|one| one.name)
        .collect();
    let mut hidden = false;
    visit(node, &mut |node| {
        hidden |= node.child_count() == 0 && macros.iter().any(|name| name == source.text(node));
        !hidden
    });
    hidden
}

fn is_named(source: &Source, kernel: Node, name: &str) -> bool {
    source.tokens(&kernel.byte_range()).iter().any(|token| token.text == name)
}

/// Whether the kernel's body declares a variable with this name.
fn is_declared(source: &Source, kernel: Node, name: &str) -> bool {
    let mut declared = false;
    visit(kernel, &mut |node| {
        let declares = |parent: Node| {
            parent.kind().ends_with("declarator")
                || matches!(parent.kind(), "declaration" | "parameter_declaration")
        };
        declared |= node.kind() == "identifier"
            && source.text(node) == name
            && node.parent().is_some_and(|parent| {
                declares(parent)
                    && parent.child_by_field_name("value").is_none_or(|value| value.id() != node.id())
                    && parent.child_by_field_name("size").is_none_or(|size| size.id() != node.id())
            });
        !declared
    });
    declared
}

/// A node's text with other nodes in it replaced.
fn replaced(source: &Source, node: Node, changes: &[(Node, String)]) -> String {
    let mut changes: Vec<_> = changes.iter().map(|(at, text)| (at.byte_range(), text)).collect();
    changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = source.text(node).to_string();
    for (range, with) in changes {
        text.replace_range(range.start - node.start_byte()..range.end - node.start_byte(), with);
    }
    text
}

/// The address of an element, with another counter.
fn address(source: &Source, load: &Wide, counter: &str, with: &str) -> String {
    let mut uses = Vec::new();
    visit(load.index, &mut |node| {
        if node.kind() == "identifier" && source.text(node) == counter {
            uses.push((node, with.to_string()));
        }
        true
    });
    format!("&{}[{}]", load.pointer.name, replaced(source, load.index, &uses))
}

/// The loop split into its two parts.
fn rewritten(source: &Source, counted: &CountedLoop, loads: &[Wide], indent: &str) -> String {
    let CountedLoop { counter, kind, .. } = counted;
    let (start, end) = (source.text(counted.start), source.text(counted.end));
    let end = if counted.end.named_child_count() == 0 { end.to_string() } else { format!("({end})") };
    let count = loads[0].elements;
    let vec = format!("{counter}_vec");
    let left = format!("{vec} < {end} && {end} - {vec} >= {count}");
    let mut fits = left.clone();
    for load in loads {
        let first = address(source, load, counter, &vec);
        fits += &format!(" &&\n{indent}      reinterpret_cast<unsigned long long>({first}) % {BYTES} == 0");
        // An unsigned index may wrap around.
        if !load.plain {
            let last = address(source, load, counter, &format!("static_cast<{kind}>({end} - 1)"));
            fits += &format!(" &&\n{indent}      {last} - {first} == {end} - 1 - {vec}");
        }
    }
    let mut text = format!("{{\n{indent}  {kind} {vec} = {start};\n{indent}  if ({fits}) {{\n");
    text += &format!("{indent}    for (; {left}; {vec} += {count}) {{\n");
    for load in loads {
        let (name, vector) = (&load.pointer.name, load.vector);
        let first = address(source, load, counter, &vec);
        text += &format!(
            "{indent}      const {vector} {name}_vec = *reinterpret_cast<const {vector}*>({first});\n"
        );
    }
    for (number, part) in PARTS.iter().enumerate().take(count) {
        let changes: Vec<(Node, String)> = loads
            .iter()
            .flat_map(|load| {
                load.loads.iter().map(move |node| (*node, format!("{}_vec.{part}", load.pointer.name)))
            })
            .collect();
        let body = replaced(source, counted.body, &changes);
        let inner = body.strip_prefix('{').and_then(|body| body.strip_suffix('}'));
        let body = inner.unwrap_or(&body).trim();
        let at = if number == 0 { vec.clone() } else { format!("{vec} + {number}") };
        text += &format!(
            "{indent}      {{\n{indent}        const {kind} {counter} = {at};\n{indent}        {body}\n{indent}      }}\n"
        );
    }
    text += &format!("{indent}    }}\n{indent}  }}\n");
    let rest = replaced(source, counted.whole, &[(counted.start, vec)]);
    text + &format!("{indent}  {rest}\n{indent}}}")
}
