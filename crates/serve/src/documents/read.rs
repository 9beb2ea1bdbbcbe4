//! Turns the bytes of an artifact into a document. Rows go straight into columns: a tree of a table with
//! 100,000 rows would cost more than all the rest.

use std::borrow::Cow;
use std::fmt;

use report::Chart;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use super::Document;
use super::rows::{Builder, Cell, Rows};

/// The newest contract of `--format json` that is understood.
const KNOWN_SCHEMA: i64 = 1;

/// Parts that are kept as they are.
const PARTS: [&str; 4] = ["verdict", "health", "findings", "result"];

pub fn document(bytes: &[u8], name: &str) -> Result<Document, String> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let document =
        Root { name }.deserialize(&mut reader).map_err(|error| format!("it is not readable: {error}"))?;
    reader.end().map_err(|error| format!("it is not readable: {error}"))?;
    match document.schema {
        Some(schema) if schema > KNOWN_SCHEMA => Err(format!(
            "a newer rocm-perf wrote it (schema {schema}); this server knows up to {KNOWN_SCHEMA}"
        )),
        _ => Ok(document),
    }
}

/// An object of a command, or a list of rows.
struct Root<'a> {
    name: &'a str,
}

impl<'de> DeserializeSeed<'de> for Root<'_> {
    type Value = Document;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Root<'_> {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of a command or a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, rows: A) -> Result<Document, A::Error> {
        let rows = Table.visit_seq(rows)?;
        Ok(Document { tables: vec![(self.name.to_string(), rows)], ..Document::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        let mut parts = Map::new();
        while let Some(key) = object.next_key::<Cow<str>>()? {
            match &*key {
                "schema" => document.schema = object.next_value::<Json>()?.as_i64(),
                "command" => {
                    document.command = object.next_value::<Json>()?.as_str().unwrap_or_default().to_string();
                }
                "tables" => document.tables = object.next_value_seed(Tables)?,
                "notes" => {
                    let notes = object.next_value::<Json>()?;
                    let texts = notes.as_array().into_iter().flatten().filter_map(Json::as_str);
                    document.notes = texts.map(str::to_string).collect();
                }
                "charts" => {
                    let charts = object.next_value::<Json>()?;
                    document.charts =
                        charts.as_array().into_iter().flatten().filter_map(Chart::of_json).collect();
                }
                part if PARTS.contains(&part) => {
                    let value = object.next_value()?;
                    parts.insert(part.to_string(), value);
                }
                _ => _ = object.next_value::<IgnoredAny>()?,
            }
        }
        document.parts = Json::Object(parts);
        Ok(document)
    }
}

/// Tables by name.
struct Tables;

impl<'de> DeserializeSeed<'de> for Tables {
    type Value = Vec<(String, Rows)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Tables {
    type Value = Vec<(String, Rows)>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("tables by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut tables = Vec::new();
        while let Some(name) = object.next_key::<String>()? {
            tables.push((name, object.next_value_seed(Table)?));
        }
        Ok(tables)
    }
}

/// One table: a list of rows.
struct Table;

impl<'de> DeserializeSeed<'de> for Table {
    type Value = Rows;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Rows, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Table {
    type Value = Rows;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Rows, A::Error> {
        let mut builder = Builder::default();
        while rows.next_element_seed(Row(&mut builder))?.is_some() {}
        Ok(builder.finish())
    }
}

/// One row: an object of cells.
struct Row<'a>(&'a mut Builder);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key_seed(RowKey(&mut *self.0))? {
            match key {
                Key::Reasons => {
                    let reasons = object.next_value::<Json>()?;
                    for (key, reason) in reasons.as_object().into_iter().flatten() {
                        self.0.set_reason(key, reason.as_str().unwrap_or_default());
                    }
                }
                Key::Skipped => _ = object.next_value::<IgnoredAny>()?,
                Key::Column(column) => {
                    let cell = object.next_value_seed(OneCell(&mut *self.0, column))?;
                    self.0.set(column, cell);
                }
            }
        }
        self.0.end_row();
        Ok(())
    }
}

/// What a key of a row stands for.
enum Key {
    Reasons,
    Skipped,
    Column(usize),
}

/// A key of a row; its text is not kept.
struct RowKey<'a>(&'a mut Builder);

impl<'de> DeserializeSeed<'de> for RowKey<'_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for RowKey<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the key of a column")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
        Ok(match key {
            "absent" => Key::Reasons,
            "schema_version" => Key::Skipped,
            key => self.0.column(key).map_or(Key::Skipped, Key::Column),
        })
    }
}

/// One cell of a column.
struct OneCell<'a>(&'a mut Builder, usize);

impl<'de> DeserializeSeed<'de> for OneCell<'_> {
    type Value = Cell;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cell, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OneCell<'_> {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a cell")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Cell, E> {
        Ok(Cell::Text(self.0.intern(if value { "yes" } else { "no" }, self.1)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Cell, E> {
        Ok(Cell::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Cell, E> {
        Ok(i64::try_from(value).map_or(Cell::Float(value as f64), Cell::Int))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Cell, E> {
        Ok(Cell::Text(self.0.intern(value, self.1)))
    }

    fn visit_unit<E: Error>(self) -> Result<Cell, E> {
        Ok(Cell::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cell, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Json>()? {
            items.push(item);
        }
        Ok(Cell::Json(self.0.intern(&Json::Array(items).to_string(), self.1)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Cell, A::Error> {
        let mut map = Map::new();
        while let Some((key, value)) = object.next_entry::<String, Json>()? {
            map.insert(key, value);
        }
        Ok(Cell::Json(self.0.intern(&Json::Object(map).to_string(), self.1)))
    }
}

#[cfg(test)]
mod tests {
    use report::{Unit, Value};

    use super::*;

    #[test]
    fn rows_may_lack_cells_and_say_why() {
        let text = r#"{"schema": 1, "command": "summary", "inputs": [{"path": "x"}], "verdict": {"text": "fine"},
            "tables": {"kernels": [
                {"name": "gemm", "total_ns": 5, "share_pct": 12.5},
                {"name": "<b>", "total_ns": null, "sites": [1, 2], "absent": {"total_ns": "not recorded"}}]}}"#;
        let document = document(text.as_bytes(), "summary").expect("a document");
        assert_eq!(document.parts["verdict"]["text"], "fine");
        let rows = document.table("kernels").expect("a table");
        assert_eq!(rows.len(), 2);
        let keys: Vec<(&str, Unit, bool)> =
            rows.columns.iter().map(|column| (column.key.as_str(), column.unit, column.text)).collect();
        let expected = [
            ("name", Unit::None, true),
            ("total_ns", Unit::Ns, false),
            ("share_pct", Unit::Pct, false),
            ("sites", Unit::None, false),
        ];
        assert_eq!(keys, expected);
        assert_eq!(rows.value(1, 0), Value::from("<b>"));
        assert_eq!(rows.value(1, 1), Value::absent("not recorded"));
        assert_eq!(rows.value(0, 3), Value::absent(""));
        assert_eq!(rows.value(1, 3), Value::Json(serde_json::json!([1, 2])));
    }

    #[test]
    fn lists_are_tables_and_newer_contracts_are_refused() {
        let found =
            document(b"[{\"stage\": \"decode\", \"schema_version\": 1}]", "kernel_table").expect("rows");
        assert_eq!(found.table("kernel_table").map(Rows::len), Some(1));
        let error = document(b"{\"schema\": 2, \"tables\": {}}", "summary").err().expect("newer");
        assert!(error.contains("newer") && error.contains("schema 2"), "{error}");
        let wide: Vec<String> = (0..1000).map(|at| format!("{{\"k{at}\": 1}}")).collect();
        let found = document(format!("[{}]", wide.join(",")).as_bytes(), "t").expect("rows");
        assert!(
            found.table("t").is_some_and(|rows| rows.columns.len() < 500),
            "each row with a key of its own"
        );
        for broken in ["", "{", "3", "{\"tables\": [1]}", "[1]", "{\"tables\": {\"a\": [{}]}} trailing"] {
            assert!(document(broken.as_bytes(), "x").is_err(), "{broken}");
        }
    }
}
