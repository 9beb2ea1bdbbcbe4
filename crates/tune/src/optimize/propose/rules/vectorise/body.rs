//! What a loop's body does, if all of it is understood.

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::optimize::source::{Source, visit};

/// Functions without side effects.
const PURE: &[&str] = &[
    "abs",
    "fabs",
    "fabsf",
    "fma",
    "fmaf",
    "__fmaf_rn",
    "fmin",
    "fminf",
    "fmax",
    "fmaxf",
    "min",
    "max",
    "sqrt",
    "sqrtf",
    "rsqrt",
    "rsqrtf",
    "exp",
    "expf",
    "exp2f",
    "__expf",
    "log",
    "logf",
    "log2f",
    "__logf",
    "pow",
    "powf",
    "__powf",
    "sin",
    "sinf",
    "__sinf",
    "cos",
    "cosf",
    "__cosf",
    "tanh",
    "tanhf",
    "erff",
    "floorf",
    "ceilf",
    "truncf",
    "__fdividef",
];
/// The thread's position; it never changes.
const PLACES: &[&str] = &["threadIdx", "blockIdx", "blockDim", "gridDim"];

/// What a body reads and writes.
#[derive(Default)]
pub(super) struct Body<'t> {
    /// Elements that are read.
    pub loads: Vec<Load<'t>>,
    /// Arrays that are written.
    pub stores: BTreeSet<String>,
    /// Variables that are assigned or declared.
    written: BTreeSet<String>,
}

/// An element that is read.
pub(super) struct Load<'t> {
    /// `x[i]`
    pub node: Node<'t>,
    /// `x`
    pub array: String,
    /// `i`
    pub index: Node<'t>,
    /// Whether it is read whenever the body runs.
    pub always: bool,
}

impl<'t> Body<'t> {
    /// Analyses a body; `None` if something in it is not understood.
    pub fn of(source: &Source, node: Node<'t>) -> Option<Self> {
        let mut body = Body::default();
        body.look(source, node, true).then_some(body)
    }

    /// Whether the body may change a variable.
    pub fn changes(&self, name: &str) -> bool {
        self.written.contains(name) || self.stores.contains(name)
    }

    fn look_into(&mut self, source: &Source, node: Node<'t>, always: bool) -> bool {
        node.named_children(&mut node.walk()).all(|child| self.look(source, child, always))
    }

    fn look(&mut self, source: &Source, node: Node<'t>, always: bool) -> bool {
        let field = |name: &str| node.child_by_field_name(name);
        match node.kind() {
            "comment"
            | "number_literal"
            | "true"
            | "false"
            | "identifier"
            | "primitive_type"
            | "sized_type_specifier"
            | "type_descriptor" => true,
            "compound_statement"
            | "expression_statement"
            | "parenthesized_expression"
            | "argument_list"
            | "condition_clause"
            | "unary_expression"
            | "cast_expression" => self.look_into(source, node, always),
            "declaration" => self.declares(source, node, always),
            "if_statement" | "conditional_expression" => {
                let condition = field("condition");
                condition.is_some_and(|one| self.look(source, one, always))
                    && node.named_children(&mut node.walk()).all(|child| {
                        Some(child.id()) == condition.map(|one| one.id()) || self.look(source, child, false)
                    })
            }
            "else_clause" => self.look_into(source, node, false),
            "binary_expression" => {
                let lazy = field("operator").is_some_and(|one| ["&&", "||"].contains(&source.text(one)));
                field("left").is_some_and(|one| self.look(source, one, always))
                    && field("right").is_some_and(|one| self.look(source, one, always && !lazy))
            }
            "assignment_expression" => {
                field("left").is_some_and(|one| self.writes(source, one))
                    && field("right").is_some_and(|one| self.look(source, one, always))
            }
            "update_expression" => field("argument").is_some_and(|one| self.writes(source, one)),
            "subscript_expression" => self.reads(source, node, always),
            "call_expression" => {
                field("function").is_some_and(|one| PURE.contains(&source.text(one)))
                    && field("arguments").is_some_and(|one| self.look(source, one, always))
            }
            "field_expression" => field("argument").is_some_and(|one| PLACES.contains(&source.text(one))),
            _ => false,
        }
    }

    fn declares(&mut self, source: &Source, node: Node<'t>, always: bool) -> bool {
        const PLAIN: &[&str] = &["primitive_type", "sized_type_specifier", "placeholder_type_specifier"];
        let plain = |child: &Node| match child.kind() {
            "type_qualifier" => source.text(*child) == "const",
            "init_declarator" | "identifier" | "comment" => true,
            kind => PLAIN.contains(&kind),
        };
        if !node.named_children(&mut node.walk()).all(|child| plain(&child)) {
            return false;
        }
        let mut cursor = node.walk();
        let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
        declarators.into_iter().all(|one| {
            let (name, value) = match one.kind() {
                "init_declarator" => {
                    (one.child_by_field_name("declarator"), one.child_by_field_name("value"))
                }
                _ => (Some(one), None),
            };
            let Some(name) = name.filter(|name| name.kind() == "identifier") else { return false };
            self.written.insert(source.text(name).to_string());
            value.is_none_or(|value| self.look(source, value, always))
        })
    }

    fn writes(&mut self, source: &Source, target: Node<'t>) -> bool {
        match target.kind() {
            "identifier" => {
                self.written.insert(source.text(target).to_string());
                true
            }
            "subscript_expression" => {
                let Some((array, index)) = element(target) else { return false };
                self.stores.insert(source.text(array).to_string());
                self.look(source, index, false)
            }
            _ => false,
        }
    }

    fn reads(&mut self, source: &Source, node: Node<'t>, always: bool) -> bool {
        let Some((array, index)) = element(node) else { return false };
        self.loads.push(Load { node, array: source.text(array).to_string(), index, always });
        self.look(source, index, always)
    }
}

/// Array and index of `x[i]`.
fn element<'t>(node: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
    let array = node.child_by_field_name("argument").filter(|array| array.kind() == "identifier")?;
    let indices = node.child_by_field_name("indices").filter(|list| list.named_child_count() == 1)?;
    Some((array, indices.named_child(0)?))
}

/// Whether an expression is constant and has no side effects; array elements only if `memory` is set.
pub(super) fn is_fixed(source: &Source, node: Node, changed: &dyn Fn(&str) -> bool, memory: bool) -> bool {
    let mut fixed = true;
    visit(node, &mut |node| {
        fixed &= match node.kind() {
            "identifier" => !changed(source.text(node)),
            "number_literal" | "parenthesized_expression" | "binary_expression" | "field_identifier" => true,
            "field_expression" => {
                node.child_by_field_name("argument").is_some_and(|one| PLACES.contains(&source.text(one)))
            }
            "subscript_expression" | "subscript_argument_list" => memory,
            _ => !node.is_named(),
        };
        fixed
    });
    fixed
}
