//! Approximations of functions; results may differ in the last digits.

use super::{Header, Proposal, Site};
use crate::optimize::source::visit;

/// Single-precision functions that have an approximation in HIP.
const FAST: &[(&str, &str)] = &[
    ("expf", "__expf"),
    ("logf", "__logf"),
    ("log2f", "__log2f"),
    ("log10f", "__log10f"),
    ("sinf", "__sinf"),
    ("cosf", "__cosf"),
    ("tanf", "__tanf"),
    ("powf", "__powf"),
];

pub(super) fn fast_math(site: &Site) -> Vec<Proposal> {
    let Some(body) = site.source.body(site.kernel) else { return Vec::new() };
    let mut calls = Vec::new();
    visit(body, &mut |node| {
        if node.kind() == "call_expression"
            && let Some(function) = node.child_by_field_name("function")
            && let Some((_, fast)) = FAST.iter().find(|(name, _)| *name == site.source.text(function))
        {
            calls.push((function.byte_range(), *fast));
        }
        true
    });
    if calls.is_empty() {
        return Vec::new();
    }
    calls.sort_by_key(|(range, _)| range.start);
    let mut text = site.source.text.clone();
    for (range, fast) in calls.iter().rev() {
        text.replace_range(range.clone(), fast);
    }
    let mut names: Vec<&str> = calls.iter().map(|(_, fast)| *fast).collect();
    names.dedup();
    let description = format!("approximate by {}", names.join(", "));
    vec![site.proposal("fast_math", "", description, text, Header::Identical)]
}
