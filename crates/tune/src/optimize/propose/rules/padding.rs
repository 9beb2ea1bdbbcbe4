//! LDS padding: rows one element longer, so that the elements of a column fall into different banks.

use tree_sitter::Node;

use super::{Header, Proposal, Site};
use crate::optimize::source::visit;

/// Banks of the LDS; if a row is a multiple of them, a column falls into one bank.
const BANKS: i64 = 32;

pub(super) fn lds_padding(site: &Site) -> Vec<Proposal> {
    let Some(body) = site.source.body(site.kernel) else { return Vec::new() };
    let mut tiles = Vec::new();
    visit(body, &mut |node| {
        if node.kind() == "declaration" {
            let shared = node.children(&mut node.walk()).any(|child| site.source.text(child) == "__shared__");
            let mut cursor = node.walk();
            let arrays = node.children_by_field_name("declarator", &mut cursor).filter(|_| shared);
            tiles.extend(arrays.filter_map(|declarator| tile(site, declarator)));
        }
        true
    });
    tiles.retain(|(name, _)| only_subscripts(site, body, name));
    tiles
        .into_iter()
        .map(|(name, row)| {
            let mut text = site.source.text.clone();
            text.insert_str(row.end_byte(), " + 1");
            let description = format!("pad the rows of `{name}` by one element");
            site.proposal("lds_padding", &name, description, text, Header::Identical)
        })
        .collect()
}

/// Name and row length of a two-dimensional array whose rows are a multiple of the banks.
fn tile<'t>(site: &Site<'t>, declarator: Node<'t>) -> Option<(String, Node<'t>)> {
    let array = |node: Node<'t>| (node.kind() == "array_declarator").then_some(node);
    let outer = array(declarator)?;
    let inner = array(outer.child_by_field_name("declarator")?)?;
    let name = inner.child_by_field_name("declarator").filter(|name| name.kind() == "identifier")?;
    let row = outer.child_by_field_name("size")?;
    let text = site.source.text(row);
    let length = match row.kind() {
        "number_literal" => text.parse().ok()?,
        "identifier" => site.source.constant(text)?,
        _ => return None,
    };
    (length > 0 && length % BANKS == 0).then(|| (site.source.text(name).to_string(), row))
}

/// Whether every use of the array has a row and a column, so that no code depends on the length of a row.
fn only_subscripts(site: &Site, body: Node, name: &str) -> bool {
    let source = site.source;
    let named = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let in_macro = source.macros().iter().any(|one| one.name == name || named(&one.value));
    if in_macro {
        return false;
    }
    let (mut declared, mut fine) = (0, true);
    visit(body, &mut |node| {
        if !matches!(node.kind(), "identifier" | "field_identifier") || source.text(node) != name {
            return true;
        }
        let Some(parent) = node.parent() else { return true };
        if parent.kind() == "array_declarator" {
            declared += 1;
        } else {
            fine &= element(parent, node).is_some_and(|element| is_value(source, element));
        }
        true
    });
    fine && declared == 1
}

/// The element `name[row][column]` around a name. A row that is always the first means a flat array.
fn element<'t>(parent: Node<'t>, name: Node<'t>) -> Option<Node<'t>> {
    let subscript_of = |node: Node<'t>, of: Node<'t>| {
        let array = node.child_by_field_name("argument").filter(|_| node.kind() == "subscript_expression")?;
        (array.id() == of.id()).then_some(node)
    };
    let row = subscript_of(parent, name)?;
    let index = row.child_by_field_name("indices")?.named_child(0)?;
    if index.kind() == "number_literal" {
        return None;
    }
    subscript_of(row.parent()?, row)
}

/// Whether an element is used for its value or assigned; only atomics may take its address.
fn is_value(source: &crate::optimize::source::Source, element: Node) -> bool {
    let Some(parent) = element.parent() else { return false };
    match parent.kind() {
        "pointer_expression" => {
            let call =
                parent.parent().and_then(|list| list.parent()).filter(|one| one.kind() == "call_expression");
            let function = call.and_then(|call| call.child_by_field_name("function"));
            function.is_some_and(|function| source.text(function).starts_with("atomic"))
        }
        "sizeof_expression" | "subscript_expression" | "decltype" => false,
        _ => true,
    }
}
