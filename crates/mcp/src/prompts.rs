//! Prompts: common investigations, as steps with these tools.

use std::sync::LazyLock;

use rmcp::model::{JsonObject, Prompt, PromptArgument};
use serde::Deserialize;

use crate::refusal::Refusal;

/// All prompts.
pub static PROMPTS: LazyLock<Vec<PromptRow>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("../tables/prompts.toml")).unwrap_or_default();
    table.prompt
});

#[derive(Default, Deserialize)]
struct Table {
    prompt: Vec<PromptRow>,
}

/// One prompt.
#[derive(Deserialize)]
pub struct PromptRow {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    arguments: Vec<(String, String)>,
    text: String,
}

impl PromptRow {
    /// As the protocol lists it.
    pub fn listed(&self) -> Prompt {
        let argument = |(name, about): &(String, String)| {
            PromptArgument::new(name).with_description(about).with_required(true)
        };
        let arguments = self.arguments.iter().map(argument).collect();
        Prompt::new(self.name.clone(), Some(self.about.clone()), Some(arguments))
    }

    /// The text for these arguments.
    pub fn text(&self, given: &JsonObject) -> Result<String, Refusal> {
        let mut text = self.text.trim().to_string();
        for (name, _) in &self.arguments {
            let Some(value) = given.get(name).and_then(|value| value.as_str()) else {
                return Err(Refusal::new(format!("the prompt `{}` needs the argument `{name}`", self.name)));
            };
            text = text.replace(&format!("{{{name}}}"), value);
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    #[test]
    fn prompts_read_and_name_tools_that_exist() {
        let table: Table = toml::from_str(include_str!("../tables/prompts.toml")).expect("the table reads");
        assert!(table.prompt.len() >= 5);
        for prompt in &table.prompt {
            assert!(TOOLS.iter().any(|tool| prompt.text.contains(&tool.name)), "{}", prompt.name);
            let given: JsonObject =
                prompt.arguments.iter().map(|(name, _)| (name.clone(), "X".into())).collect();
            let text = prompt.text(&given).expect("a text");
            assert!(text.contains('X') && !text.contains('{'), "{text}");
            assert!(prompt.text(&JsonObject::new()).is_err());
        }
    }
}
