//! The compile-flag sweep: the same source, built with another option from a table.

use super::{Header, Proposal, Site};

const TABLE: &str = include_str!("../../../../rules/flags.tsv");

/// An option to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its words.
    pub words: Vec<String>,
    /// Whether it may change results.
    pub changes_results: bool,
    /// What it does.
    pub does: &'static str,
}

/// The table of options.
pub fn flags() -> Vec<Flag> {
    let row = |line: &'static str| {
        let mut cells = line.split('\t');
        let words = cells.next()?.split(' ').map(String::from).collect();
        let changes_results = cells.next()? == "fast_math";
        Some(Flag { words, changes_results, does: cells.next()? })
    };
    TABLE.lines().skip(1).filter_map(row).collect()
}

pub(super) fn compile_flags(site: &Site) -> Vec<Proposal> {
    let has = |flag: &Flag| {
        let line = site.build.join(" ");
        let present =
            |word: &String| line.split(|c: char| c.is_whitespace() || "'\"".contains(c)).any(|w| w == word);
        flag.words.last().is_some_and(present)
    };
    let usable = |flag: &Flag| (site.choice.fast_math || !flag.changes_results) && !has(flag);
    flags()
        .into_iter()
        .filter(usable)
        .map(|flag| {
            let line = flag.words.join(" ");
            let description = format!("build with {line}");
            let text = site.source.text.clone();
            let mut proposal = site.proposal("compile_flags", &line, description, text, Header::Identical);
            proposal.flags.extend(flag.words);
            proposal
        })
        .collect()
}

/// Compilers that take options at the end of their command.
const COMPILERS: [&str; 6] = ["hipcc", "amdclang++", "clang++", "hipcc.bin", "amdclang", "clang"];
/// Where a build command takes options.
pub const PLACE: &str = "{flags}";
/// How `hipcc` gets options if another command cannot pass them on.
pub const VARIABLE: &str = "HIPCC_COMPILE_FLAGS_APPEND";

/// A build command with options: at `{flags}`, at the end of a direct compiler call, or in the variable that
/// `hipcc` reads under any build system.
pub fn with_flags(words: &[String], flags: &[String]) -> (Vec<String>, Vec<(String, String)>) {
    let line = flags.join(" ");
    if words.iter().any(|word| word.contains(PLACE)) {
        let fill = |word: &String| match word.as_str() {
            PLACE => flags.to_vec(),
            _ => vec![word.replace(PLACE, &line)],
        };
        return (words.iter().flat_map(fill).collect(), Vec::new());
    }
    let program = words.first().map(|word| word.rsplit('/').next().unwrap_or_default()).unwrap_or_default();
    let version = |c: char| c.is_ascii_digit() || c == '-' || c == '.';
    if COMPILERS.contains(&program.trim_end_matches(version)) {
        return (words.iter().chain(flags).cloned().collect(), Vec::new());
    }
    let env = if flags.is_empty() { Vec::new() } else { vec![(VARIABLE.to_string(), line)] };
    (words.to_vec(), env)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(String::from).collect()
    }

    #[test]
    fn the_table_is_read_whole() {
        let flags = flags();
        assert_eq!(flags.len(), TABLE.lines().count() - 1);
        assert!(
            flags.iter().any(|flag| flag.changes_results) && flags.iter().any(|flag| !flag.changes_results)
        );
        assert!(flags.iter().all(|flag| flag.words[0].starts_with('-') && !flag.does.is_empty()));
    }

    #[test]
    fn options_go_where_the_build_takes_them() {
        let flags = words("-mllvm -x");
        let (line, env) = with_flags(&words("hipcc -O2 a.cu"), &flags);
        assert_eq!((line, env.len()), (words("hipcc -O2 a.cu -mllvm -x"), 0));
        let (line, _) = with_flags(&words("/opt/llvm/bin/clang-22 a.hip"), &flags);
        assert_eq!(line, words("/opt/llvm/bin/clang-22 a.hip -mllvm -x"));
        let (line, _) = with_flags(&words("make CXXFLAGS={flags} {flags} all"), &flags);
        assert_eq!(line, ["make", "CXXFLAGS=-mllvm -x", "-mllvm", "-x", "all"]);
        assert_eq!(with_flags(&words("make {flags} all"), &[]).0, words("make all"));
        let (line, env) = with_flags(&words("make all"), &flags);
        assert_eq!((line, env), (words("make all"), vec![(VARIABLE.into(), "-mllvm -x".into())]));
    }
}
