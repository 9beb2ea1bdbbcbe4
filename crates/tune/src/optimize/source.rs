//! A source file with kernels, from its syntax tree.

mod constants;
mod mask;

use std::ops::Range;

use tree_sitter::{Node, Parser, Tree};

/// A parsed source file.
pub struct Source {
    /// Its text.
    pub text: String,
    tree: Tree,
    /// Words that are shorter in the tree than in the text.
    words: Vec<Range<usize>>,
}

/// A kernel in a source file.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name, without namespaces and template arguments.
    pub name: String,
    /// The whole definition, without the template header.
    pub definition: Range<usize>,
    /// The body, including braces.
    pub body: Range<usize>,
    /// Where the name and parameters begin.
    pub declarator: usize,
    /// Whether launch bounds are given.
    pub launch_bounds: bool,
    /// Whether it contains something that the parser does not understand.
    pub damaged: bool,
}

/// A loop in a kernel's body.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Where it begins.
    pub start: usize,
    /// The pragma before it, with its line end.
    pub pragma: Option<Range<usize>>,
    /// Its line, from 1.
    pub line: usize,
    /// Its three parts as written, and its index among equal ones: stays the same if other lines move.
    pub key: String,
    /// Factor of the pragma, if it has one.
    pub factor: Option<u32>,
    /// Number of enclosing loops.
    pub depth: usize,
    /// Whether it contains no loops.
    pub innermost: bool,
}

/// A pointer parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointer {
    /// Start of its name.
    pub name_start: usize,
    /// Its name.
    pub name: String,
    /// Whether it is already restricted.
    pub restricted: bool,
    /// What it points to, without qualifiers.
    pub pointee: String,
    /// Whether what it points to is constant.
    pub constant: bool,
    /// Whether what it points to is volatile.
    pub volatile: bool,
}

/// A token of the source; comments are not tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its text.
    pub text: String,
    /// Its start.
    pub start: usize,
}

impl Source {
    /// Parses CUDA or HIP; `None` if the parser gives up, which it never does.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_cpp::LANGUAGE.into()).ok()?;
        let masked = mask::mask(text);
        let tree = parser.parse(&masked.text, None)?;
        Some(Self { text: text.to_string(), tree, words: masked.words })
    }

    /// All kernels with a body.
    pub fn kernels(&self) -> Vec<Kernel> {
        let mut kernels = Vec::new();
        visit(self.tree.root_node(), &mut |node| {
            if node.kind() == "function_definition"
                && let Some(kernel) = self.kernel(node)
            {
                kernels.push(kernel);
            }
            true
        });
        kernels
    }

    /// Text of a node.
    pub(super) fn text(&self, node: Node) -> &str {
        &self.text[node.byte_range()]
    }

    fn kernel(&self, node: Node) -> Option<Kernel> {
        let body = node.child_by_field_name("body").filter(|body| body.kind() == "compound_statement")?;
        let header = self.header_tokens(node, body);
        if !header.iter().any(|token| token.text == "__global__") {
            return None;
        }
        let declarator = node.child_by_field_name("declarator")?;
        let mut function = declarator;
        while function.kind() != "function_declarator" {
            function = function.child_by_field_name("declarator")?;
        }
        let name = self.text(function.child_by_field_name("declarator")?);
        Some(Kernel {
            name: base_name(name).to_string(),
            definition: node.byte_range(),
            body: body.byte_range(),
            declarator: declarator.start_byte(),
            launch_bounds: header.iter().any(|token| token.text == "__launch_bounds__"),
            damaged: node.has_error(),
        })
    }

    /// The node of a kernel's body.
    pub(super) fn body(&self, kernel: &Kernel) -> Option<Node<'_>> {
        let found = self.tree.root_node().descendant_for_byte_range(kernel.body.start, kernel.body.end)?;
        (found.kind() == "compound_statement").then_some(found)
    }

    fn header_tokens(&self, definition: Node, body: Node) -> Vec<Token> {
        let mut tokens = Vec::new();
        visit(definition, &mut |node| {
            if node.id() == body.id() {
                return false;
            }
            self.push_token(node, &mut tokens);
            true
        });
        tokens
    }

    fn push_token(&self, node: Node, tokens: &mut Vec<Token>) {
        if node.child_count() == 0 && node.kind() != "comment" && !node.byte_range().is_empty() {
            let start = node.start_byte();
            let word = self.words.binary_search_by_key(&start, |word| word.start);
            let range = word.map_or(node.byte_range(), |word| self.words[word].clone());
            tokens.push(Token { text: self.text[range].to_string(), start });
        }
    }

    /// Tokens within a range.
    pub fn tokens(&self, range: &Range<usize>) -> Vec<Token> {
        let mut tokens = Vec::new();
        visit(self.tree.root_node(), &mut |node| {
            let within = node.start_byte() >= range.start && node.end_byte() <= range.end;
            if within {
                self.push_token(node, &mut tokens);
            }
            node.end_byte() > range.start && node.start_byte() < range.end
        });
        tokens
    }

    /// Nodes of these kinds within a range, by kind and text.
    pub fn nodes(&self, range: &Range<usize>, kinds: &[&str]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        visit(self.tree.root_node(), &mut |node| {
            if node.start_byte() >= range.start
                && node.end_byte() <= range.end
                && kinds.contains(&node.kind())
            {
                found.push((node.kind().to_string(), self.text(node).to_string()));
            }
            node.end_byte() > range.start && node.start_byte() < range.end
        });
        found
    }

    /// Functions called within a range.
    pub fn calls(&self, range: &Range<usize>) -> Vec<String> {
        let mut calls = Vec::new();
        visit(self.tree.root_node(), &mut |node| {
            if node.kind() == "call_expression"
                && node.start_byte() >= range.start
                && node.end_byte() <= range.end
                && let Some(function) = node.child_by_field_name("function")
            {
                calls.push(self.text(function).to_string());
            }
            true
        });
        calls
    }

    /// `for` loops in a kernel's body.
    pub fn loops(&self, kernel: &Kernel) -> Vec<Loop> {
        let mut loops: Vec<Loop> = Vec::new();
        visit(self.tree.root_node(), &mut |node| {
            let within = node.start_byte() >= kernel.body.start && node.end_byte() <= kernel.body.end;
            if within && node.kind() == "for_statement" {
                let end = node.child_by_field_name("body").map_or(node.end_byte(), |body| body.start_byte());
                let header = self.text[node.start_byte()..end].split_whitespace().collect::<String>();
                let before =
                    loops.iter().filter(|other| other.key.split(' ').next() == Some(header.as_str())).count();
                let pragma = self.pragma_before(node);
                let mut innermost = true;
                visit(node, &mut |inner| {
                    innermost &= inner.id() == node.id() || !inner.kind().ends_with("for_statement");
                    true
                });
                let mut depth = 0;
                let mut above = node.parent();
                while let Some(outer) = above.filter(|outer| outer.start_byte() >= kernel.body.start) {
                    depth += usize::from(outer.kind() == "for_statement");
                    above = outer.parent();
                }
                loops.push(Loop {
                    start: node.start_byte(),
                    factor: pragma.as_ref().and_then(|range| unroll_factor(&self.text[range.clone()])),
                    pragma,
                    key: format!("{header} {before}"),
                    line: node.start_position().row + 1,
                    depth,
                    innermost,
                });
            }
            true
        });
        loops
    }

    fn pragma_before(&self, node: Node) -> Option<Range<usize>> {
        let mut before = node.prev_sibling()?;
        while before.kind() == "comment" {
            before = before.prev_sibling()?;
        }
        let text = self.text(before);
        let is_pragma = before.kind() == "preproc_call" && text.trim_start().starts_with("#pragma");
        (is_pragma && text.contains("unroll")).then(|| before.byte_range())
    }

    /// Pointer parameters of a kernel.
    pub fn pointers(&self, kernel: &Kernel) -> Vec<Pointer> {
        let mut pointers = Vec::new();
        visit(self.tree.root_node(), &mut |node| {
            let in_header = node.start_byte() >= kernel.declarator && node.end_byte() <= kernel.body.start;
            if in_header && node.kind() == "parameter_declaration" {
                if let Some(declarator) = node.child_by_field_name("declarator")
                    && declarator.kind() == "pointer_declarator"
                    && let Some(name) = declarator.child_by_field_name("declarator")
                    && name.kind() == "identifier"
                {
                    let pointee = node.child_by_field_name("type").map(|kind| self.text(kind).to_string());
                    let before = &self.text[node.start_byte()..declarator.start_byte()];
                    let qualified = |by: &str| before.split(|c: char| !c.is_alphanumeric()).any(|w| w == by);
                    pointers.push(Pointer {
                        name_start: name.start_byte(),
                        name: self.text(name).to_string(),
                        restricted: self.text(declarator).contains("restrict"),
                        pointee: pointee.unwrap_or_default(),
                        constant: qualified("const"),
                        volatile: qualified("volatile"),
                    });
                }
                return false;
            }
            true
        });
        pointers
    }
}

/// Walks a tree in order; `enter` decides whether to visit a node's children.
pub(super) fn visit<'t>(root: Node<'t>, enter: &mut dyn FnMut(Node<'t>) -> bool) {
    let mut cursor = root.walk();
    let mut go_in = enter(cursor.node());
    loop {
        if go_in && cursor.goto_first_child() {
            go_in = enter(cursor.node());
            continue;
        }
        loop {
            if cursor.node().id() == root.id() {
                return;
            }
            if cursor.goto_next_sibling() {
                go_in = enter(cursor.node());
                break;
            }
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The number in `#pragma unroll 4` or `#pragma unroll(4)`.
fn unroll_factor(pragma: &str) -> Option<u32> {
    let mut words =
        pragma.split(|c: char| c.is_whitespace() || "()".contains(c)).filter(|word| !word.is_empty());
    words.next_back()?.parse().ok()
}

/// A function's own name: without its return type, namespaces, template arguments and parameters.
pub fn base_name(name: &str) -> &str {
    let name = name.trim().trim_end_matches(".kd");
    let end = name.find(['<', '(']).filter(|end| *end > 0).unwrap_or(name.len());
    let name = name[..end].trim_end();
    let start = name.rfind([' ', ':', '*', '&']).map_or(0, |at| at + 1);
    &name[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    pub const TWO: &str = r#"
#define N 4
// __global__ void ghost() { for (;;) {} }
const char* text = "__global__ void in_a_string() {}";
namespace a {
template <int B> __global__ void __launch_bounds__(256) saxpy(const float* __restrict__ x, float* y, int n) {
  __shared__ float s[B];
  #pragma unroll 4
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < B; ++j) { y[i] += x[i]; }
    y[i] = s[0];
  }
}
}
extern "C" __global__ void other(float *p) { for (int k = 0; k < 8; k++) p[k] = 1; }
__device__ float helper(float x) { return x; }
int main() { a::saxpy<4><<<1, 2>>>(0, 0, 3); }
"#;

    #[test]
    fn kernels_are_found_and_comments_and_strings_are_not() {
        let source = Source::parse(TWO).unwrap();
        let kernels = source.kernels();
        let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["saxpy", "other"]);
        assert!(kernels[0].launch_bounds && !kernels[1].launch_bounds);
        assert!(TWO[kernels[0].body.clone()].starts_with('{') && TWO[kernels[0].body.clone()].ends_with('}'));
        assert!(TWO[kernels[1].declarator..].starts_with("other("));
        let loops = source.loops(&kernels[0]);
        assert_eq!(loops.len(), 2);
        assert!(loops[0].pragma.is_some() && !loops[0].innermost && loops[0].depth == 0);
        assert!(loops[1].pragma.is_none() && loops[1].innermost && loops[1].depth == 1);
        let pointers = source.pointers(&kernels[0]);
        assert_eq!(
            pointers.iter().map(|p| (p.name.as_str(), p.restricted)).collect::<Vec<_>>(),
            [("x", true), ("y", false)]
        );
        assert_eq!((pointers[0].pointee.as_str(), pointers[0].constant), ("float", true));
        assert_eq!((pointers[1].pointee.as_str(), pointers[1].constant), ("float", false));
        assert_eq!((loops[0].factor, loops[1].factor), (Some(4), None));
    }

    #[test]
    fn names_are_stripped_to_the_function() {
        for (name, base) in [
            ("void a::saxpy<4>(float const*, int)", "saxpy"),
            ("vector_add(float*)", "vector_add"),
            ("gemm.kd", "gemm"),
            ("plain", "plain"),
        ] {
            assert_eq!(base_name(name), base);
        }
    }
}
