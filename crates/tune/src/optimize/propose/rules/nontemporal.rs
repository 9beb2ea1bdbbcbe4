//! Non-temporal loads and stores, which do not evict other data from the caches.

use std::ops::Range;

use tree_sitter::Node;

use super::{Header, NUMBERS, Proposal, Site};
use crate::optimize::source::{Pointer, visit};

/// Pointer parameters to plain numbers; built-in functions accept no other types.
fn plain_pointers(site: &Site) -> Vec<Pointer> {
    let mut pointers = site.source.pointers(site.kernel);
    pointers.retain(|pointer| !pointer.volatile && NUMBERS.contains(&pointer.pointee.as_str()));
    pointers
}

/// How often a name is used in the kernel's body, and its subscripts.
fn uses<'t>(site: &Site<'t>, name: &str) -> (usize, Vec<Node<'t>>) {
    let (mut all, mut subscripts) = (0, Vec::new());
    let Some(body) = site.source.body(site.kernel) else { return (0, subscripts) };
    visit(body, &mut |node| {
        if node.kind() == "identifier" && site.source.text(node) == name {
            all += 1;
            let array = |parent: &Node| {
                parent.kind() == "subscript_expression"
                    && parent.child_by_field_name("argument").is_some_and(|one| one.id() == node.id())
            };
            subscripts.extend(node.parent().filter(array));
        }
        true
    });
    (all, subscripts)
}

fn in_loop(node: Node, body: Range<usize>) -> bool {
    let mut above = node.parent();
    while let Some(outer) = above.filter(|outer| outer.start_byte() >= body.start) {
        if outer.kind().ends_with("for_statement")
            || matches!(outer.kind(), "while_statement" | "do_statement")
        {
            return true;
        }
        above = outer.parent();
    }
    false
}

/// Whether a subscript is only read: no address of it, no size, no type.
fn is_read(node: Node) -> bool {
    const NEUTRAL: [&str; 2] = ["parenthesized_expression", "subscript_argument_list"];
    let mut above = node.parent();
    while let Some(outer) = above.filter(|outer| NEUTRAL.contains(&outer.kind())) {
        above = outer.parent();
    }
    above.is_none_or(|outer| {
        !matches!(outer.kind(), "pointer_expression" | "sizeof_expression" | "decltype" | "field_expression")
    })
}

fn places(count: usize) -> String {
    if count == 1 { "1 place".into() } else { format!("{count} places") }
}

/// Constant inputs that are read at one place outside of loops: each thread reads its own element, once.
pub(super) fn load(site: &Site) -> Vec<Proposal> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for pointer in plain_pointers(site).iter().filter(|pointer| pointer.constant) {
        let (all, subscripts) = uses(site, &pointer.name);
        if let ([one], 1) = (&subscripts[..], all)
            && is_read(*one)
            && !in_loop(*one, site.kernel.body.clone())
        {
            found.push(one.byte_range());
        }
    }
    // A load inside another one's index would be replaced twice.
    let nested =
        |one: &Range<usize>| found.iter().any(|other| other.start < one.start && one.end <= other.end);
    let mut outer: Vec<Range<usize>> = found.iter().filter(|one| !nested(one)).cloned().collect();
    if outer.is_empty() {
        return Vec::new();
    }
    outer.sort_by_key(|range| range.start);
    let mut text = site.source.text.clone();
    for range in outer.iter().rev() {
        let read = &site.source.text[range.clone()];
        text.replace_range(range.clone(), &format!("__builtin_nontemporal_load(&{read})"));
    }
    let description = format!("use non-temporal loads in {}", places(outer.len()));
    vec![site.proposal("nontemporal_load", "", description, text, Header::Identical)]
}

/// Assignments through pointers that the kernel only writes.
pub(super) fn store(site: &Site) -> Vec<Proposal> {
    let mut found = Vec::new();
    for pointer in plain_pointers(site).iter().filter(|pointer| !pointer.constant) {
        let (all, subscripts) = uses(site, &pointer.name);
        let stores: Vec<_> = subscripts.iter().filter_map(|one| assignment(site, *one)).collect();
        if stores.len() == all {
            found.extend(stores);
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    found.sort_by_key(|(whole, ..)| whole.start);
    let mut text = site.source.text.clone();
    for (whole, target, value) in found.iter().rev() {
        let (target, value) = (&site.source.text[target.clone()], &site.source.text[value.clone()]);
        text.replace_range(whole.clone(), &format!("__builtin_nontemporal_store({value}, &{target})"));
    }
    let description = format!("use non-temporal stores in {}", places(found.len()));
    vec![site.proposal("nontemporal_store", "", description, text, Header::Identical)]
}

/// The statement `p[i] = value;` of a subscript: the assignment, its target and its value.
fn assignment(site: &Site, target: Node) -> Option<(Range<usize>, Range<usize>, Range<usize>)> {
    let whole = target.parent().filter(|parent| parent.kind() == "assignment_expression")?;
    let statement = whole.parent().is_some_and(|parent| parent.kind() == "expression_statement");
    let plain = site.source.text(whole.child_by_field_name("operator")?) == "=";
    let left = whole.child_by_field_name("left")?;
    let value = whole.child_by_field_name("right").filter(|value| value.kind() != "initializer_list")?;
    (statement && plain && left.id() == target.id())
        .then(|| (whole.byte_range(), target.byte_range(), value.byte_range()))
}
