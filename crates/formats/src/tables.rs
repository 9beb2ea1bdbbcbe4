//! The built-in tables of rules and facts.

use serde::de::DeserializeOwned;

/// Parses a built-in table.
///
/// Going through plain JSON values keeps a program with dozens of tables small: TOML's own deserializer is
/// compiled again, several times, for every kind of row. Errors then lack their location, so user tables are
/// not read this way.
pub fn built_in<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value: serde_json::Value = toml::from_str(text).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Row {
        name: String,
        share: Option<f64>,
        words: Vec<String>,
    }

    #[test]
    fn tables_are_as_toml_itself_reads_them() {
        let text = "name = 'a'\nshare = 2.5\nwords = ['x', 'y']";
        assert_eq!(super::built_in::<Row>(text).unwrap(), toml::from_str::<Row>(text).unwrap());
        assert!(super::built_in::<Row>("name = 'a'\nwords = []\nother = 1").unwrap_err().contains("other"));
        assert!(super::built_in::<Row>("name = ").is_err());
    }
}
