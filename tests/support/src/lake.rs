//! Four small ranks on two nodes, and SQL tests in plain files.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Ranks of [`write_ranks`].
pub const RANKS: i64 = 4;

/// Kernels of each rank.
pub const KERNELS: i64 = 48;

const NAMES: [&str; 3] = ["gemm", "softmax", "ncclDevKernel_AllReduce"];

/// Writes torch traces of four ranks, in a folder per node: `n0/rank0.json` … `n1/rank3.json`. The times are such that
/// everybody can check sums by hand: kernel `i` of rank `r` runs for `10 + 2 (i mod 3) + r` microseconds.
pub fn write_ranks(folder: &Path) -> [PathBuf; 2] {
    let nodes = [folder.join("n0"), folder.join("n1")];
    for rank in 0..RANKS {
        let node = &nodes[usize::try_from(rank / 2).unwrap()];
        std::fs::create_dir_all(node).unwrap();
        std::fs::write(node.join(format!("rank{rank}.json")), trace(rank)).unwrap();
    }
    nodes
}

fn trace(rank: i64) -> String {
    let mut events = String::new();
    for i in 0..KERNELS {
        let (name, start, duration) =
            (NAMES[usize::try_from(i % 3).unwrap()], 1000 + 20 * i + 5 * rank, 10 + 2 * (i % 3) + rank);
        write!(
            events,
            r#"{{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":{pid},"tid":{pid},"ts":{launch},"dur":2,"args":{{"correlation":{i}}}}},
{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{start},"dur":{duration},"args":{{"device":0,"stream":7,"correlation":{i},"grid":[64,1,1],"block":[256,1,1]}}}},
"#,
            pid = 100 + rank,
            launch = start - 8,
            i = i + 1,
        )
        .unwrap();
        if i % 12 == 0 {
            writeln!(
                events,
                r#"{{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Host -> Device)","pid":0,"tid":9,"ts":{start},"dur":{},"args":{{"device":0,"stream":9,"correlation":{},"bytes":{}}}}},"#,
                3 + rank,
                1000 + i,
                4096 * (rank + 1),
            )
            .unwrap();
        }
    }
    let events = events.trim_end().trim_end_matches(',');
    format!(
        "{{\"schemaVersion\":1,\"distributedInfo\":{{\"rank\":{rank},\"world_size\":{RANKS},\"backend\":\"nccl\"}},\n\"traceEvents\":[\n{events}\n]}}\n"
    )
}

/// One query of a file, and its expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlTest {
    /// The line of the file at which it begins.
    pub line: usize,
    /// The statement.
    pub sql: String,
    /// Whether rows may come in any order.
    pub sorted: bool,
    /// Rows, values with a blank between; or a part of the error that is expected.
    pub expected: Result<Vec<String>, String>,
}

/// Reads the plain format of sqllogictest: `query TYPES [rowsort]`, the statement, `----` and the rows, or
/// `statement error TEXT` and the statement; records have an empty line between them.
pub fn sql_tests(text: &str) -> Vec<SqlTest> {
    let lines: Vec<&str> = text.lines().collect();
    let mut tests = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (line, head) = (at + 1, lines[at].trim());
        at += 1;
        if head.is_empty() || head.starts_with('#') {
            continue;
        }
        let end = (at..lines.len()).find(|&i| lines[i].trim().is_empty()).unwrap_or(lines.len());
        let body = &lines[at..end];
        at = end;
        if let Some(error) = head.strip_prefix("statement error ") {
            let (sql, expected) = (body.join("\n"), Err(error.to_string()));
            tests.push(SqlTest { line, sql, sorted: false, expected });
            continue;
        }
        assert!(head.starts_with("query "), "line {line}: {head}");
        let cut =
            body.iter().position(|text| *text == "----").unwrap_or_else(|| panic!("line {line}: no ----"));
        let rows = body[cut + 1..].iter().map(|row| row.to_string()).collect();
        let sorted = head.ends_with("rowsort");
        tests.push(SqlTest { line, sql: body[..cut].join("\n"), sorted, expected: Ok(rows) });
    }
    tests
}

/// Runs the tests of a file; `run` returns the rows of a statement, or its error.
pub fn run_sql_tests(path: &Path, mut run: impl FnMut(&str) -> Result<Vec<String>, String>) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tests = sql_tests(&text);
    for test in &tests {
        let place = format!("{}:{}", path.display(), test.line);
        match (run(&test.sql), &test.expected) {
            (Ok(mut rows), Ok(expected)) => {
                let mut expected = expected.clone();
                if test.sorted {
                    rows.sort();
                    expected.sort();
                }
                assert_eq!(rows, expected, "{place}: {}", test.sql);
            }
            (Err(error), Err(expected)) => {
                let (error, expected) = (error.to_lowercase(), expected.to_lowercase());
                assert!(error.contains(&expected), "{place}: {error}");
            }
            (found, expected) => panic!("{place}: {found:?} instead of {expected:?}"),
        }
    }
    tests.len()
}

/// The folder with the files of SQL tests.
pub fn sql_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../slt")
}
