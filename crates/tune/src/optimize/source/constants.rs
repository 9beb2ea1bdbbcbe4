//! Macros and named numbers of a source file.

use super::{Source, visit};

/// A macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::optimize) struct Macro {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether it has parameters.
    pub parameters: bool,
}

impl Source {
    /// Macros of the file.
    pub(in crate::optimize) fn macros(&self) -> Vec<Macro> {
        let mut macros = Vec::new();
        visit(self.tree.root_node(), &mut |node| {
            if matches!(node.kind(), "preproc_def" | "preproc_function_def")
                && let Some(name) = node.child_by_field_name("name")
            {
                let value = node.child_by_field_name("value").map(|value| self.text(value).trim());
                macros.push(Macro {
                    name: self.text(name).to_string(),
                    value: value.unwrap_or_default().to_string(),
                    parameters: node.kind() == "preproc_function_def",
                });
            }
            true
        });
        macros
    }

    /// A named whole number: a macro, or a constant of the file or of a kernel.
    pub(in crate::optimize) fn constant(&self, name: &str) -> Option<i64> {
        let macros = self.macros().into_iter().filter(|one| one.name == name);
        let mut values: Vec<Option<i64>> = macros.map(|one| number(&one.value)).collect();
        visit(self.tree.root_node(), &mut |node| {
            if node.kind() == "init_declarator"
                && node.child_by_field_name("declarator").is_some_and(|one| self.text(one) == name)
            {
                let declaration = node.parent().map(|parent| self.text(parent)).unwrap_or_default();
                let fixed = declaration.split_whitespace().any(|word| ["const", "constexpr"].contains(&word));
                let value = node.child_by_field_name("value").and_then(|value| number(self.text(value)));
                values.push(value.filter(|_| fixed));
            }
            true
        });
        match values[..] {
            [value] => value,
            _ => None,
        }
    }
}

fn number(text: &str) -> Option<i64> {
    text.trim().trim_matches(['(', ')']).trim_end_matches(['u', 'U', 'l', 'L']).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_names() {
        let text = "#define A 32\n#define B (64)\n#define F(x) x\nconstexpr int C = 16;\nint d = 3;\nconst int E = A;\n#define G 1\n#define G 2\n";
        let source = Source::parse(text).unwrap();
        let found = |name: &str| source.constant(name);
        assert_eq!((found("A"), found("B"), found("C")), (Some(32), Some(64), Some(16)));
        for unknown in ["d", "E", "F", "G", "H"] {
            assert_eq!(found(unknown), None, "{unknown}");
        }
        assert_eq!(source.macros().iter().filter(|one| one.parameters).count(), 1);
    }
}
