//! Counters in the forms people use: names on the command line, `pmc` text files, and job files in JSON or
//! YAML.

use std::path::Path;

use serde_json::Value;

use super::error::{Document, Mistake};
use super::library::read;
use super::yaml;

/// Requested counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterRequest {
    /// All counters, each once, in order.
    pub counters: Vec<String>,
    /// What was ignored in the file, one line each.
    pub notes: Vec<String>,
}

impl CounterRequest {
    fn add(&mut self, name: &str) {
        if !self.counters.iter().any(|known| known == name) {
            self.counters.push(name.to_string());
        }
    }
}

/// Reads `A,B` or files (`.txt`, `.json`, `.yaml`, `.yml`), in any mix.
pub fn counters(given: &[String]) -> Result<CounterRequest, Mistake> {
    let mut request = CounterRequest::default();
    for word in given {
        let path = Path::new(word);
        let ending = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("txt" | "text") => text(&Document { name: word, text: &read(path)? }, &mut request)?,
            Some("json") => json(&Document { name: word, text: &read(path)? }, &mut request)?,
            Some("yaml" | "yml") => yaml(&Document { name: word, text: &read(path)? }, &mut request)?,
            _ if path.is_file() => {
                let document = Document { name: word, text: "" };
                return Err(document
                    .mistake_at(None, "unknown file extension")
                    .expecting("expected .txt, .json, .yaml or .yml"));
            }
            _ => word.split([',', ' ']).filter(|name| !name.is_empty()).for_each(|name| request.add(name)),
        }
    }
    Ok(request)
}

/// Lines of `pmc: A B`, also with a space before the colon; `#` begins a comment.
fn text(document: &Document<'_>, request: &mut CounterRequest) -> Result<(), Mistake> {
    for (number, line) in document.text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let Some((key, names)) = content.split_once(':') else {
            return Err(document
                .mistake_in(number + 1, format!("`{content}` has no key"))
                .expecting("expected a line such as `pmc: SQ_WAVES SQ_INSTS_VALU`"));
        };
        match key.trim() {
            "pmc" => {
                names.split([' ', '\t', ',']).filter(|name| !name.is_empty()).for_each(|n| request.add(n));
            }
            key @ ("range" | "gpu" | "kernel") => {
                request.notes.push(format!("`{}` line {}: `{key}:` is ignored", document.name, number + 1));
            }
            key => {
                return Err(document
                    .mistake_in(number + 1, format!("a counter file has no key `{key}:`"))
                    .expecting("expected a line such as `pmc: SQ_WAVES SQ_INSTS_VALU`"));
            }
        }
    }
    nonempty(document, request)
}

fn nonempty(document: &Document<'_>, request: &CounterRequest) -> Result<(), Mistake> {
    if request.counters.is_empty() {
        let mistake = document.mistake_at(None, "it names no counter");
        return Err(mistake.expecting("expected a line such as `pmc: SQ_WAVES SQ_INSTS_VALU`"));
    }
    Ok(())
}

fn json(document: &Document<'_>, request: &mut CounterRequest) -> Result<(), Mistake> {
    jobs(document, &document.json()?, request)
}

fn yaml(document: &Document<'_>, request: &mut CounterRequest) -> Result<(), Mistake> {
    let value = yaml::parse(document.text).map_err(|error| Mistake {
        file: document.name.into(),
        line: Some(error.line),
        what: format!("not valid YAML: {}", error.why),
        help: None,
    })?;
    jobs(document, &value, request)
}

/// `{"jobs": [{"pmc": ["A"]}]}`; a single job may omit the list, and `pmc` may be text.
fn jobs(document: &Document<'_>, value: &Value, request: &mut CounterRequest) -> Result<(), Mistake> {
    let expected = "expected `jobs`, a list of objects with `pmc`, a list of counters";
    let single = [value.clone()];
    let jobs = match value.get("jobs") {
        Some(Value::Array(jobs)) => jobs.as_slice(),
        Some(_) => return Err(document.mistake("jobs", "`jobs` is not a list").expecting(expected)),
        None if value.get("pmc").is_some() || value.get("pmc_groups").is_some() => &single,
        None => return Err(document.mistake_at(Some(0), "`jobs` is missing").expecting(expected)),
    };
    for job in jobs {
        let Value::Object(job) = job else {
            return Err(document.mistake("jobs", "a job is not an object").expecting(expected));
        };
        for (key, value) in job {
            match key.as_str() {
                "pmc" | "pmc_groups" => names(document, key, value, request)?,
                other => {
                    let note = format!("`{}`: ignored `{other}`: only counters are used", document.name);
                    if !request.notes.contains(&note) {
                        request.notes.push(note);
                    }
                }
            }
        }
    }
    nonempty(document, request)
}

fn names(
    document: &Document<'_>,
    key: &str,
    value: &Value,
    request: &mut CounterRequest,
) -> Result<(), Mistake> {
    match value {
        Value::String(text) => {
            text.split([' ', '\t', ',']).filter(|name| !name.is_empty()).for_each(|name| request.add(name));
            Ok(())
        }
        Value::Array(list) => list.iter().try_for_each(|value| names(document, key, value, request)),
        _ => {
            let mistake = document.mistake(key, format!("`{key}` is not a list of counters"));
            Err(mistake.expecting("expected a list such as [\"SQ_WAVES\", \"SQ_INSTS_VALU\"]"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Result<CounterRequest, Mistake> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        counters(&[path.display().to_string()])
    }

    #[test]
    fn all_kinds_of_files_give_the_same_counters() {
        let expected = ["SQ_WAVES", "SQ_INSTS_VALU", "TCC_HIT_sum"];
        let files = [
            ("a.txt", "# pmc: NOT_THIS\npmc: SQ_WAVES SQ_INSTS_VALU # two\n\npmc : TCC_HIT_sum SQ_WAVES\n"),
            ("a.json", r#"{"jobs": [{"pmc": ["SQ_WAVES", "SQ_INSTS_VALU"]}, {"pmc": ["TCC_HIT_sum"]}]}"#),
            ("a.yaml", "jobs:\n  - pmc:\n      - SQ_WAVES\n      - SQ_INSTS_VALU\n  - pmc: [TCC_HIT_sum]\n"),
            ("b.yml", "pmc: SQ_WAVES SQ_INSTS_VALU TCC_HIT_sum\n"),
        ];
        for (name, text) in files {
            assert_eq!(of(name, text).unwrap().counters, expected, "{name}");
        }
        let words = ["SQ_WAVES,SQ_INSTS_VALU".to_string(), "TCC_HIT_sum".to_string()];
        assert_eq!(counters(&words).unwrap().counters, expected);
    }

    #[test]
    fn mistakes_have_a_line() {
        let wrong = |name: &str, text: &str| of(name, text).unwrap_err();
        assert_eq!(wrong("a.txt", "pmc: SQ_WAVES\n\ncounters SQ_WAVES\n").line, Some(3));
        assert_eq!(wrong("a.txt", "pmcs: SQ_WAVES\n").line, Some(1));
        assert!(wrong("a.txt", "# pmc: SQ_WAVES\n").what.contains("no counter"));
        assert_eq!(wrong("a.json", "{\"jobs\":\n [{\"pmc\": 3}]}").line, Some(2));
        assert_eq!(wrong("a.json", "{\n\"jobs\": [\n").line, Some(3));
        assert!(wrong("a.yaml", "jobs: [\n").line.is_some());
        assert!(wrong("a.yaml", "job: x\n").help.unwrap().contains("`jobs`"));
        assert!(counters(&["no/such.txt".to_string()]).unwrap_err().what.contains("cannot be read"));
    }
}
