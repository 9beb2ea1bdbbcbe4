//! `report` from end to end: every format read back by an independent reader, the page in a real browser.

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{SMALL_TORCH, files, json, rocm_perf, run, stdout, synth};
use serde_json::Value;

const FORMATS: &str = "html,pdf,md,xlsx,json,png,svg,jpeg";

fn run_of_two_ranks() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["--scenario", "training", "--ranks", "2", "--steps", "2", "--to", "rocpd"];
    synth(&folder.path().join("run"), &arguments);
    folder
}

fn serving() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--steps", "3"]);
    folder
}

/// Writes a report of `input` and returns the output folder.
fn report(folder: &Path, input: &str, more: &[&str]) -> PathBuf {
    let output = rocm_perf().current_dir(folder).args(["report", input, "-o", "out/"]).args(more).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("out")
}

fn names(folder: &Path) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    files(folder, "").iter().map(name).collect()
}

/// A program of the system, unless it is missing.
fn tool(candidates: &[&'static str]) -> Option<String> {
    testing::tool(candidates).map(str::to_string)
}

/// A page in a browser: its document after the script ran, or a screenshot of it.
struct Browser {
    program: String,
    home: tempfile::TempDir,
}

impl Browser {
    fn find() -> Option<Self> {
        let program = tool(&["chromium", "chromium-browser", "google-chrome"])?;
        Some(Self { program, home: tempfile::tempdir().expect("a folder") })
    }

    fn start(&self, page: &Path, hash: &str, arguments: &[&str]) -> std::process::Output {
        let address = format!("file://{}{hash}", page.canonicalize().expect("a page").display());
        let profile = format!("--user-data-dir={}", self.home.path().display());
        let output = Command::new(&self.program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", &profile])
            .args(arguments)
            .arg(address)
            .output();
        output.expect("the browser runs")
    }

    fn document(&self, page: &Path, hash: &str) -> String {
        String::from_utf8_lossy(&self.start(page, hash, &["--dump-dom"]).stdout).into_owned()
    }

    /// Pixels of the upper part of the page.
    fn picture(&self, page: &Path, hash: &str) -> Vec<[u8; 3]> {
        let file = self.home.path().join("picture.png");
        let target = format!("--screenshot={}", file.display());
        self.start(page, hash, &["--window-size=1200,1600", &target]);
        let mut reader =
            png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file).expect("a picture")))
                .read_info()
                .expect("a PNG file");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut pixels).expect("pixels");
        pixels.chunks_exact(info.color_type.samples()).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }
}

/// Cells of the table with this id, row by row.
fn rows(document: &str, table: &str) -> Vec<Vec<String>> {
    let start = document.find(&format!("id=\"{table}\"")).expect("the table");
    let rest = &document[start..];
    let body = &rest[rest.find("<tbody>").expect("rows")..rest.find("</tbody>").expect("rows")];
    let cells = |row: &str| -> Vec<String> {
        row.split("<td")
            .skip(1)
            .map(|cell| match cell.strip_prefix(" data-tip=\"") {
                // A name that is shown in few words.
                Some(whole) => whole[..whole.find('"').unwrap()].to_string(),
                None => cell[cell.find('>').unwrap() + 1..cell.find("</td>").unwrap()].to_string(),
            })
            .collect()
    };
    body.split("<tr>").skip(1).map(cells).collect()
}

#[test]
fn every_format_is_written_once_and_kept() {
    let folder = run_of_two_ranks();
    let out = report(folder.path(), "run", &["--to", FORMATS]);
    let first = names(&out);
    let charts = ["categories", "copy_bandwidth", "durations", "kernel_share", "timeline"];
    let mut expected: Vec<String> =
        ["html", "json", "md", "pdf", "xlsx"].iter().map(|ending| format!("run_report.{ending}")).collect();
    for ending in ["png", "svg", "jpeg"] {
        expected.extend(charts.iter().map(|chart| format!("run_{chart}.{ending}")));
    }
    expected.sort();
    assert_eq!(first, expected);
    let bytes = |folder: &Path| -> Vec<Vec<u8>> {
        files(folder, "").iter().map(|path| std::fs::read(path).expect("a file")).collect()
    };
    let before = bytes(&out);
    let arguments = ["report", "run", "-o", "out/", "--to", FORMATS];
    let again = rocm_perf().current_dir(folder.path()).args(arguments).output().expect("it runs");
    assert_eq!(again.status.code(), Some(2));
    let message = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(message.contains("already exists") && message.contains("--force"), "{message}");
    let forced =
        rocm_perf().current_dir(folder.path()).args(arguments).arg("--force").output().expect("it runs");
    assert!(forced.status.success());
    assert_eq!(bytes(&out), before, "same input, same bytes");
}

#[test]
fn bad_places_give_one_line_and_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("small.json");
    std::fs::write(&trace, SMALL_TORCH).expect("a trace");
    std::fs::write(folder.path().join("taken"), "mine").expect("a file");
    let cases: [(&[&str], &str); 5] = [
        (&["--to", "html,pdf", "-o", "one.html"], "is one file, and this report is several"),
        (&["--to", "png", "-o", "one.png"], "is one file, and this report is several"),
        (&["--to", "json", "-o", "small.json"], "is the input"),
        (&["--to", "html,svg", "-o", "taken/below/"], "cannot write `taken/below/"),
        (&["--to", "png", "--scale", "99"], "expected a number from 0.25 to 8"),
    ];
    for (arguments, wanted) in cases {
        let output =
            rocm_perf().current_dir(folder.path()).args(["report", "small.json"]).args(arguments).output();
        let output = output.expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(wanted), "{arguments:?}: {message}");
        assert_eq!(names(folder.path()), ["small.json", "taken"], "{arguments:?}");
    }
    assert_eq!(std::fs::read_to_string(&trace).expect("a trace"), SMALL_TORCH);
}

#[test]
fn the_ending_of_a_file_chooses_its_format() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("small.json"), SMALL_TORCH).expect("a trace");
    for (name, start) in
        [("a.md", &b"# small"[..]), ("b.pdf", b"%PDF-"), ("c.xlsx", b"PK"), ("d.html", b"<!doctype")]
    {
        let output =
            rocm_perf().current_dir(folder.path()).args(["report", "small.json", "-o", name]).output();
        assert!(output.expect("it runs").status.success());
        assert!(std::fs::read(folder.path().join(name)).expect("a file").starts_with(start), "{name}");
    }
}

#[test]
fn a_file_of_an_unknown_format_is_refused_and_not_written_as_html() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t.json"), SMALL_TORCH).expect("a trace");
    let output = rocm_perf().current_dir(folder.path()).args(["report", "t.json", "-o", "x.docx"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("`x.docx` does not end in a report format"), "{errors}");
    assert!(errors.contains("html, pdf, md, xlsx, json, png, svg, jpeg"), "{errors}");
    assert!(!folder.path().join("x.docx").exists());
}

#[test]
fn the_report_says_what_the_commands_say() {
    let folder = serving();
    let input = folder.path().join("run/serving.rank0.json");
    let out = report(folder.path(), "run/serving.rank0.json", &["--to", "json"]);
    let text = std::fs::read_to_string(out.join("serving.rank0_report.json")).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let schema = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/report.json");
    let schema = serde_json::from_slice(&std::fs::read(schema).expect("a schema")).expect("JSON");
    assert_eq!(formats::json_schema::problems(&schema, &report), [""; 0]);
    let summary = json("summary", &[&input], &[]);
    assert_eq!(report["tables"]["kernels"], summary["tables"]["kernels"]);
    assert_eq!(report["tables"]["memory_copies"], summary["tables"]["memory_copies"]);
    let breakdown = json("breakdown", &[&input], &[]);
    assert_eq!(report["tables"]["timeline"], breakdown["tables"]["timeline"]);
    assert_eq!(report["tables"]["categories"], breakdown["tables"]["categories"]);
    let explain = json("explain", &[&input], &[]);
    // The suggested commands name the trace as it was given.
    let relative = explain["findings"].to_string().replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(report["findings"].to_string(), relative);
    let triage = json("triage", &[&input], &[]);
    for table in ["kernel_table", "overlap_opportunities", "fuse_opportunities"] {
        assert_eq!(report["tables"][table], triage["tables"][table], "{table}");
    }
    // A chart adds up to its table.
    let charts = report["charts"].as_array().expect("charts");
    let shares = charts.iter().find(|chart| chart["name"] == "kernel_share").expect("a chart");
    let bars = shares["data"]["bars"].as_array().expect("bars");
    let drawn: f64 = bars.iter().map(|bar| bar["values"][0].as_f64().expect("a number")).sum();
    let total = |table: &str| -> i64 {
        let rows = summary["tables"][table].as_array().expect("rows");
        rows.iter().map(|row| row["total_ns"].as_i64().expect("a number")).sum()
    };
    assert_eq!(drawn as i64, total("kernels") + total("memory_copies"));
}

#[test]
fn a_report_shows_who_held_memory_where_a_snapshot_is_beside_the_trace() {
    let folder = serving();
    synth(&folder.path().join("snap"), &["--to", "snapshot", "--ranks", "1", "--steps", "2"]);
    let snapshot = files(&folder.path().join("snap"), ".pickle").remove(0);
    let beside = snapshot.strip_prefix(folder.path()).expect("inside").display().to_string();
    let out = report(folder.path(), "run/serving.rank0.json", &[&beside, "--to", "json,html"]);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("a report");
    let report: Value = serde_json::from_str(&read("out_report.json")).expect("JSON");
    let memory = json("memory", &[&snapshot], &[]);
    assert_eq!(report["tables"]["memory_devices"], memory["tables"]["devices"]);
    for table in ["peak_owners", "peak_ops", "never_freed", "largest_blocks", "fragmentation"] {
        assert_eq!(report["tables"][table], memory["tables"][table], "{table}");
    }
    let charts = report["charts"].as_array().expect("charts");
    assert!(charts.iter().any(|chart| chart["name"] == "memory_timeline"));
    assert!(read("out_report.html").contains("Held memory"));
    // Names and values of the trace are unchanged.
    let summary = json("summary", &[&folder.path().join("run/serving.rank0.json")], &[]);
    assert_eq!(report["tables"]["kernels"], summary["tables"]["kernels"]);
}

#[test]
fn markdown_of_a_small_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("small.json"), SMALL_TORCH).expect("a trace");
    let out = report(folder.path(), "small.json", &["--to", "md,svg"]);
    insta::assert_snapshot!(std::fs::read_to_string(out.join("small_report.md")).expect("a report"));
}

#[test]
fn the_page_sorts_and_filters_in_a_browser() {
    let Some(browser) = Browser::find() else { return };
    let folder = serving();
    let out = report(folder.path(), "run/serving.rank0.json", &["--to", "html,json"]);
    let page = out.join("serving.rank0_report.html");
    let text = std::fs::read_to_string(out.join("serving.rank0_report.json")).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let kernels = report["tables"]["kernels"].as_array().expect("rows");
    assert!(kernels.len() > 20, "there is more than one page of rows");
    let name = |row: &Value| {
        row["name"].as_str().expect("a name").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    };
    let first = |rows: &[Vec<String>]| -> Vec<String> { rows.iter().map(|row| row[0].clone()).collect() };

    let document = browser.document(&page, "");
    let plain = rows(&document, "kernels");
    assert_eq!(first(&plain), kernels.iter().take(20).map(name).collect::<Vec<_>>());
    // The script writes every cell as the program does, long names in few words.
    let document_of_script = browser.document(&page, "#kernels.sort=total_ns");
    assert_eq!(rows(&document_of_script, "kernels"), plain);
    for written in [document, document_of_script] {
        assert!(written.contains(&format!("data-tip=\"{}\">gemm MT320x224x64 BBS</td>", plain[0][0])));
    }

    let mut by_calls: Vec<&Value> = kernels.iter().collect();
    by_calls.sort_by_key(|row| row["calls"].as_i64());
    let document = browser.document(&page, "#kernels.sort=calls&kernels.dir=asc");
    assert_eq!(
        first(&rows(&document, "kernels")),
        by_calls.iter().take(20).map(|row| name(row)).collect::<Vec<_>>()
    );
    assert!(document.contains("aria-sort=\"ascending\""));

    let wanted: Vec<String> =
        kernels.iter().map(name).filter(|name| name.to_lowercase().contains("cijk")).collect();
    let document = browser.document(&page, "#kernels.q=cijk&kernels.rows=100");
    assert_eq!(first(&rows(&document, "kernels")), wanted);
    assert!(
        document.contains(&format!("{} of {} rows", wanted.len(), kernels.len())),
        "{} rows",
        wanted.len()
    );

    let second = rows(&browser.document(&page, "#kernels.page=2"), "kernels");
    assert_eq!(first(&second), kernels.iter().skip(20).take(20).map(name).collect::<Vec<_>>());
    let none = rows(&browser.document(&page, "#kernels.q=no+such+kernel"), "kernels");
    assert_eq!(none, [["no row matches"]]);
}

#[test]
fn the_page_is_seen_light_and_dark() {
    let Some(browser) = Browser::find() else { return };
    let folder = serving();
    let page = report(folder.path(), "run/serving.rank0.json", &[]).join("serving.rank0_report.html");
    for (hash, ground, blue) in [
        ("#theme=light", [0xff, 0xff, 0xff], [0x2f, 0x67, 0xb1]),
        ("#theme=dark", [0x14, 0x18, 0x1d], [0x6b, 0xa2, 0xea]),
    ] {
        let pixels = browser.picture(&page, hash);
        assert_eq!(pixels[0], ground, "{hash}");
        let count = |color: [u8; 3]| pixels.iter().filter(|pixel| **pixel == color).count();
        assert!(count(ground) * 2 > pixels.len(), "{hash}: mostly ground");
        assert!(count(blue) > 1000, "{hash}: {} pixels of the first kind", count(blue));
        let written = pixels.iter().filter(|pixel| **pixel != ground).count();
        assert!(written * 30 > pixels.len(), "{hash}: {written} pixels are not ground");
    }
}

#[test]
fn the_pdf_holds_the_words_and_numbers_of_the_tables() {
    let Some(program) = tool(&["pdftotext"]) else { return };
    let folder = run_of_two_ranks();
    let out = report(folder.path(), "run", &["--to", "pdf,json", "--title", "two ranks"]);
    let text = Command::new(program).arg("-layout").arg(out.join("run_report.pdf")).arg("-").output();
    let text = String::from_utf8_lossy(&text.expect("pdftotext runs").stdout).into_owned();
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("run_report.json")).expect("a report"))
            .expect("JSON");
    for words in ["two ranks", "Timeline", "Findings", "Kernels", "Categories", "GPU timeline", "1 of "] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let timeline = report["tables"]["timeline"].as_array().expect("rows");
    for row in timeline {
        let total = row["total_ns"].as_i64().expect("a number") as f64 / 1e6;
        let shown = if total >= 100.0 { format!("{total:.1} ms") } else { format!("{total:.2} ms") };
        assert!(text.contains(&shown), "{shown} in {text}");
    }
    for row in report["tables"]["categories"].as_array().expect("rows").iter().take(5) {
        let category = row["category"].as_str().expect("a name");
        assert!(text.contains(category), "{category}");
    }
}

#[test]
fn help_of_the_report() {
    insta::assert_snapshot!(stdout(&["report", "--help"]));
}

#[test]
fn several_runs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a", "b"] {
        let steps = if name == "a" { "2" } else { "3" };
        synth(&folder.path().join(name), &["--scenario", "training", "--steps", steps, "--to", "rocpd"]);
    }
    let folder = folder.path().to_str().expect("a path");
    let output = run(&["report", folder, "-o", folder]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("report needs one run, but there are"), "{message}");
}
