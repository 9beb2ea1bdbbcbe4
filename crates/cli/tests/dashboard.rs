//! The dashboard in a browser, as a team uses it: attach, find, sort, filter, compare, answer an alert, download.

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::rocm_perf;
use serde_json::Value;
use testing::browser::{ACCESSIBILITY, Browser};

/// A server for one test.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut process = rocm_perf()
            .args(["serve", "--quiet", "--listen", "127.0.0.1:0", "--db"])
            .arg(folder.join("store.db"))
            .env_remove("ROCM_PERF_TOKEN")
            .env_remove("ROCM_PERF_READ_TOKEN")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("its output")).read_line(&mut line).expect("an address");
        Self { process, url: line.trim().trim_end_matches('/').to_string() }
    }

    /// The status and the body of a response, without a browser.
    fn get(&self, path: &str) -> (String, Vec<u8>) {
        let host = self.url.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(host).expect("the server answers");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("asked");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("headers");
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        (head, answer[end + 4..].to_vec())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(folder: &Path, arguments: &[&str]) {
    let mut command = rocm_perf();
    command.current_dir(folder).env("ROCM_PERF_DB", folder.join("store.db")).args(arguments);
    done(&mut command);
}

fn done(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A kernel name that would run as a script if it were not escaped.
const HOSTILE: &str = "<img src=x onerror=document.title='owned'>&<script>document.title='owned'</script>";

/// A store with a triage of a real trace, two tunings, a regression, and names that are hostile.
fn filled() -> Option<tempfile::TempDir> {
    let trace = testing::data("traces/hta_mi250_minitoy_train.json.gz")?;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let mut triage = rocm_perf();
    triage.current_dir(at).env("ROCM_PERF_DB", at.join("store.db")).arg("triage").arg(&trace);
    done(triage.args(["--experiment", "minitoy", "--trial", "first", "--out", "artifacts", "--quiet"]));
    let mut attach = rocm_perf();
    attach.env("ROCM_PERF_DB", at.join("store.db")).args(["experiment", "attach", "minitoy", "second"]);
    done(attach.arg(&trace));
    std::fs::write(at.join("program.sh"), "echo \"time: $((1000 + $1 * $2)) us\"\n").expect("a program");
    std::fs::write(at.join("space.json"), r#"{"BLOCK": [16, 32, 64, 128], "WARPS": [1, 2, 4, 8]}"#)
        .expect("a space");
    for trial in ["grid", "random"] {
        run(
            at,
            &[
                "autotune",
                "--space",
                "space.json",
                "--quiet",
                "--strategy",
                trial,
                "--out",
                trial,
                "--cmd-template",
                "sh program.sh {BLOCK} {WARPS}",
                "--metric",
                r"time: (\d+) us",
                "--experiment",
                "tuning",
                "--trial",
                trial,
            ],
        );
    }
    run(at, &["experiment", "new", "nightly", "--description", "decode, every night"]);
    for (trial, value) in [100.0, 101.0, 99.5, 100.4, 99.8, 100.9, 112.0, 111.0, 112.4].iter().enumerate() {
        let metric = format!("latency={value}ms");
        let name = format!("t{trial}");
        run(at, &["experiment", "attach", "nightly", &name, "--metric", &metric, "--testbed", "mi300x-1"]);
    }
    let table = std::fs::read(at.join("artifacts/kernel_table.json")).expect("a table");
    let mut row: Value = serde_json::from_slice(&table).expect("JSON");
    row.as_array_mut().expect("rows").truncate(1);
    for name in ["kernel_name", "display_name", "python_location"] {
        row[0][name] = HOSTILE.into();
    }
    std::fs::write(at.join("kernel_table.json"), row.to_string()).expect("a table");
    run(at, &["experiment", "new", "hostile", "--description", HOSTILE]);
    run(at, &["experiment", "attach", "hostile", "t", "kernel_table.json"]);
    run(at, &["experiment", "note", "hostile", HOSTILE]);
    Some(folder)
}

/// Names in the order of the page.
fn listed(browser: &mut Browser, selector: &str) -> Vec<String> {
    let selector = Value::from(selector);
    let found = browser
        .value(&format!("[...document.querySelectorAll({selector})].map((e) => e.textContent.trim())"));
    found.as_array().into_iter().flatten().filter_map(Value::as_str).map(String::from).collect()
}

#[test]
fn a_team_finds_sorts_filters_compares_answers_and_downloads() {
    let Some(folder) = filled() else { return };
    let Some(mut browser) = Browser::start() else { return };
    let server = Server::start(folder.path());
    let url = server.url.clone();

    // Find: the one that changed last comes first; a search leaves one.
    browser.open(&url);
    let all = listed(&mut browser, "article.row h2");
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(all[3], "minitoy");
    browser.value("document.querySelector('input[name=q]').value = 'every night'");
    browser.follow("form.filters button");
    assert_eq!(listed(&mut browser, "article.row h2"), ["nightly"]);
    let row = browser.text("document.querySelector('article.row').textContent");
    assert!(row.contains("1 open alert"), "{row}");

    // Acknowledge: the alert stays on the page with its reason, and is no longer open.
    browser.follow("article.row h2 a");
    let alert = browser.text("document.querySelector('#alerts').textContent");
    assert!(alert.contains("t6"), "{alert}");
    browser.value("document.querySelector('#alerts input[name=reason]').value = 'new driver'");
    browser.follow("#alerts button.main");
    let alert = browser.text("document.querySelector('#alerts').textContent");
    assert!(alert.contains("new driver") && alert.contains("acknowledged"), "{alert}");
    browser.open(&format!("{url}/alerts"));
    assert!(browser.text("document.body.textContent").contains("Nothing got worse"));

    // Sort: the slowest trial first, then last.
    browser.open(&format!("{url}/experiments/nightly"));
    browser.follow("#trials th a[href*='sort=latency']");
    let slowest = listed(&mut browser, "#trials tbody td.name");
    browser.follow("#trials th[aria-sort] a");
    let fastest = listed(&mut browser, "#trials tbody td.name");
    assert_eq!((slowest[0].as_str(), fastest[0].as_str()), ("t8", "t2"));

    // An attached trace has its timeline, which can be zoomed, and the share of each kernel.
    browser.open(&format!("{url}/experiments/minitoy/trials/second"));
    let drawn = listed(&mut browser, "figure.chart h3");
    for title in ["GPU timeline", "Kernels by time"] {
        assert!(drawn.iter().any(|there| there == title), "{title} is not in {drawn:?}");
    }
    assert!(listed(&mut browser, "#timeline figure.zoom svg").len() == 1, "the timeline can be zoomed");

    // Filter a table of the triage by a word, and save it.
    browser.open(&format!("{url}/experiments/minitoy/trials/first"));
    assert!(browser.text("document.body.textContent").contains("gfx90a"), "the architecture is on the page");
    browser.follow("a[href*='/tables?'][href*='kernel']");
    let before = listed(&mut browser, "tbody tr").len();
    browser.value("document.querySelector('input[name=q]').value = 'gemm'");
    browser.follow("form.filters button");
    let rows = listed(&mut browser, "tbody tr");
    assert!(!rows.is_empty() && rows.len() < before, "{} of {before}", rows.len());
    let address = browser.text("document.querySelector('a[href*=\"format=csv\"]').getAttribute('href')");
    let (head, csv) = server.get(&address);
    assert!(head.starts_with("HTTP/1.1 200") && head.to_lowercase().contains("text/csv"), "{head}");
    let csv = String::from_utf8(csv).expect("UTF-8");
    assert_eq!(csv.lines().count(), rows.len() + 1, "{csv}");

    // Download the artifact: the same bytes that were attached.
    let (head, bytes) = server.get("/experiments/minitoy/trials/first/artifacts/kernel_table.json");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(bytes, std::fs::read(folder.path().join("artifacts/kernel_table.json")).expect("the file"));

    // Compare two tunings: comparability first.
    browser.open(&format!("{url}/experiments/tuning"));
    browser.follow("form.pick button");
    let page = browser.text("document.querySelector('main').textContent");
    let (comparable, metrics) = (page.find("omparab"), page.find("best value").or(page.find("best_value")));
    assert!(comparable.zip(metrics).is_some_and(|(a, b)| a < b), "{page}");
}

#[test]
fn pages_work_without_scripts_and_take_hostile_names_as_text() {
    let Some(folder) = filled() else { return };
    let Some(mut browser) = Browser::start() else { return };
    let server = Server::start(folder.path());
    for path in ["/", "/experiments/hostile", "/experiments/hostile/trials/t"] {
        browser.open(&format!("{}{path}", server.url));
        let text = browser.text("document.body.textContent");
        assert!(text.contains("onerror") || path == "/experiments/hostile/trials/t", "{path}: {text}");
        assert!(!browser.text("document.title").contains("owned"), "{path}");
        assert_eq!(browser.value("document.querySelectorAll('img[src=x], main script').length"), 0, "{path}");
    }
    browser.scripts(false);
    for path in ["/", "/alerts", "/live", "/experiments/nightly", "/experiments/minitoy/trials/second"] {
        browser.open(&format!("{}{path}", server.url));
        let text = browser.text("document.querySelector('main').textContent");
        assert!(text.trim().len() > 20, "{path}: {text}");
    }
}

/// Pages at the widths of a phone, a laptop and a large screen, in both schemes.
#[test]
fn no_page_has_serious_findings_of_accessibility() {
    let Some(folder) = filled() else { return };
    let Some(mut browser) = Browser::start() else { return };
    let server = Server::start(folder.path());
    let pictures = std::env::var_os("ROCM_PERF_PICTURES").map(std::path::PathBuf::from);
    let mut wrong = Vec::new();
    for (name, path) in [
        ("overview", "/"),
        ("nothing", "/?q=nothing+like+this"),
        ("alerts", "/alerts"),
        ("live", "/live"),
        ("experiment", "/experiments/nightly"),
        ("tuning", "/experiments/tuning"),
        ("trial", "/experiments/minitoy/trials/first"),
        ("traced", "/experiments/minitoy/trials/second"),
        ("table", "/experiments/minitoy/trials/second/tables?artifact=summary.json&table=kernels"),
        ("compare", "/experiments/nightly/compare?base=t0&candidate=t8"),
        ("missing", "/experiments/none"),
    ] {
        for (width, height) in [(390, 844), (1280, 900), (3840, 2160)] {
            for scheme in ["light", "dark"] {
                browser.look(width, height, scheme);
                browser.open(&format!("{}{path}", server.url));
                let found = browser.value(ACCESSIBILITY);
                let found = found.as_array().cloned().unwrap_or_default();
                wrong.extend(found.iter().map(|one| format!("{name} {width} {scheme}: {one}")));
                if let Some(folder) = &pictures {
                    std::fs::create_dir_all(folder).expect("a folder");
                    browser.picture(&folder.join(format!("{name}-{width}-{scheme}.png")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
}
