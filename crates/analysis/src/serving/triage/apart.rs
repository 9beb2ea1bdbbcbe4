//! Display names that distinguish rows: by role, problem size, or the words in which the names differ.

use trace::Map;

use super::problem::Problem;
use model::classify::Category;
use model::stages::Stage;

/// Most characters to show of a differing word.
const WORD: usize = 24;

/// What identifies a row.
pub(super) struct RowIdentity<'a> {
    pub stage: Stage,
    pub raw: &'a str,
    pub display: String,
    pub role: Option<&'static str>,
    pub problem: Option<Problem>,
    pub category: Category,
    pub backend: &'a str,
}

/// The display names of rows, unique within each stage.
pub(super) fn distinct_names(rows: &[RowIdentity]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().map(|row| row.display.clone()).collect();
    type Extra = fn(&RowIdentity) -> Option<String>;
    let extras: [Extra; 4] = [
        |row| row.role.map(String::from),
        |row| row.problem.map(|problem| problem.short()),
        |row| Some(row.category.name().to_string()),
        |row| Some(row.backend.to_string()),
    ];
    for extra in extras {
        for group in alike(rows, &names) {
            let texts: Vec<Option<String>> = group.iter().map(|&row| extra(&rows[row])).collect();
            // A text shared by all of them does not distinguish them.
            if texts.iter().all(|text| *text == texts[0]) {
                continue;
            }
            for (&row, text) in group.iter().zip(texts) {
                if let Some(text) = text {
                    names[row] = format!("{} {text}", names[row]);
                }
            }
        }
    }
    for group in alike(rows, &names) {
        let words: Vec<Vec<&str>> = group.iter().map(|&row| words(rows[row].raw)).collect();
        for (i, &row) in group.iter().enumerate() {
            let own = words[i].iter().find(|word| words.iter().any(|other| !other.contains(word)));
            if let Some(own) = own {
                let shown: String = own.chars().take(WORD).collect();
                names[row] = format!("{} {shown}", names[row]);
            }
        }
    }
    for group in alike(rows, &names) {
        for (number, &row) in group.iter().enumerate().skip(1) {
            names[row] = format!("{} #{}", names[row], number + 1);
        }
    }
    names
}

/// Groups of several rows with one name in one stage.
fn alike(rows: &[RowIdentity], names: &[String]) -> Vec<Vec<usize>> {
    let mut groups: Map<(Stage, &str), Vec<usize>> = Map::default();
    for (place, row) in rows.iter().enumerate() {
        groups.entry((row.stage, names[place].as_str())).or_default().push(place);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    groups
}

/// The words of a raw name that may distinguish it from similar ones: sizes, types, flags.
fn words(raw: &str) -> Vec<&str> {
    let mut words: Vec<&str> =
        raw.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known<'a>(raw: &'a str, role: Option<&'static str>, m: Option<u64>) -> RowIdentity<'a> {
        RowIdentity {
            stage: Stage::Decode,
            raw,
            display: "ck kernel_moe_gemm".into(),
            role,
            problem: m.map(|m| Problem { batch: 1, m, n: 8, k: 4 }),
            category: Category::Moe,
            backend: "ck",
        }
    }

    #[test]
    fn two_rows_had_one_display_name() {
        let by_role = [known("a<1>", Some("gate-up"), None), known("a<2>", Some("down"), None)];
        assert_eq!(distinct_names(&by_role), ["ck kernel_moe_gemm gate-up", "ck kernel_moe_gemm down"]);
        let by_size = [known("a<1>", None, Some(32)), known("a<2>", None, Some(64))];
        assert_eq!(distinct_names(&by_size), ["ck kernel_moe_gemm 32×8×4", "ck kernel_moe_gemm 64×8×4"]);
        let by_words = [known("f<16, bf16>", None, None), known("f<32, bf16>", None, None)];
        assert_eq!(distinct_names(&by_words), ["ck kernel_moe_gemm 16", "ck kernel_moe_gemm 32"]);
        let same = [known("f", None, None), known("f", None, None)];
        assert_eq!(distinct_names(&same), ["ck kernel_moe_gemm", "ck kernel_moe_gemm #2"]);
        assert_eq!(distinct_names(&by_role[..1]), ["ck kernel_moe_gemm"]);
    }
}
