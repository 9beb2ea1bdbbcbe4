//! Files made from a document, read by independent readers: spreadsheet, pictures, page, PDF.

mod gallery;

use std::io::{Cursor, Read};

use calamine::{Data, Reader, Xlsx};
use gallery::gallery;
use rocm_perf_report::chart::{SvgOptions, Theme};
use rocm_perf_report::{
    Column, Document, Figure, Finding, HealthCheck, HealthStatus, InputFact, Report, Section, SectionItem,
    Severity, Table, Unit, Value, Verdict, render,
};

const NAME: &str = "gemm<a & b> \"日本\"";

/// A document with everything: odd names, absent numbers, a table that is longer than a page.
fn document() -> Document {
    let columns = vec![
        Column::text("name"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("bytes", Unit::Bytes),
        Column::int("rate_gbps", Unit::Gbps),
        Column::int("share_pct", Unit::Pct).key(),
        Column::text("extra").data(),
    ];
    let mut table = Table::new("kernels", "Kernels", columns);
    for i in 0..150i64 {
        let name = if i == 0 { NAME.to_string() } else { format!("kernel_{i}") };
        let share = 100.0 / (i + 2) as f64;
        table.push(vec![
            Value::Text(name),
            Value::Int(1_000_000 + i),
            Value::Int(1_500_000 - i),
            Value::absent("not recorded"),
            Value::Float(12.345),
            Value::Float(share),
            Value::Json(serde_json::json!({ "i": i })),
        ]);
    }
    let finding = Finding {
        id: "idle-gpu".into(),
        severity: Severity::High,
        title: "the GPU is idle".into(),
        evidence: vec![("idle_ns".into(), Value::Int(5_000_000))],
        gain_ceiling_ns: Some(5_000_000),
        recommendation: "launch earlier".into(),
        ..Finding::default()
    };
    let health = HealthCheck {
        id: "truncated".into(),
        status: HealthStatus::Warn,
        value: None,
        message: "the end is missing".into(),
    };
    let report = Report {
        command: "report".into(),
        inputs: vec![InputFact {
            path: "run<1>.db".into(),
            format: "rocpd".into(),
            bytes: 12,
            rank: Some(3),
        }],
        health: vec![health],
        tables: vec![table],
        findings: vec![finding],
        charts: gallery(),
        notes: vec!["a note".into()],
        ..Report::default()
    };
    let charts = report.charts.iter().map(|chart| SectionItem::chart(&chart.name)).collect();
    let sections = vec![
        Section::new("findings", "Findings", "What could be won.", vec![SectionItem::Findings]),
        Section::new("charts", "Charts", "", charts),
        Section::new(
            "tables",
            "Tables",
            "",
            vec![SectionItem::table("kernels"), SectionItem::Notes, SectionItem::Health],
        ),
    ];
    Document {
        title: "a run".into(),
        subtitle: "run<1>.db".into(),
        version: "1.2.3".into(),
        figures: vec![Figure { label: "GPU busy".into(), value: "97.1 %".into(), note: "of one GPU".into() }],
        report,
        sections,
    }
}

#[test]
fn the_spreadsheet_has_numbers_and_a_sheet_for_each_table() {
    let bytes = render::xlsx(&document()).expect("a spreadsheet");
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes.clone())).expect("a reader opens it");
    assert_eq!(book.sheet_names(), ["Overview", "Findings", "Charts", "Kernels"]);
    let sheet = book.worksheet_range("Kernels").expect("the sheet");
    assert_eq!(sheet.get_size(), (151, 7));
    let row = |row: usize| sheet.rows().nth(row).expect("a row").to_vec();
    let headings: Vec<String> = row(0).iter().map(ToString::to_string).collect();
    assert_eq!(headings, ["name", "calls", "total (ns)", "bytes", "rate GB/s", "share", "extra"]);
    let first = row(1);
    assert_eq!(first[0], Data::String(NAME.into()));
    assert_eq!(first[1], Data::Float(1_000_000.0));
    assert_eq!(first[2], Data::Float(1_500_000.0));
    assert_eq!(first[3], Data::Empty);
    assert_eq!(first[5], Data::Float(0.5));
    let overview = book.worksheet_range("Overview").expect("the sheet");
    let words: Vec<String> = overview.rows().flatten().map(ToString::to_string).collect();
    assert!(words.contains(&"GPU busy".into()) && words.contains(&"the end is missing".into()), "{words:?}");
    // What calamine does not show: the heading is frozen, numbers have formats, there are filters.
    let mut file = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip file");
    let mut part = |name: &str| {
        let mut text = String::new();
        file.by_name(name).expect(name).read_to_string(&mut text).expect("text");
        text
    };
    let sheet = part("xl/worksheets/sheet4.xml");
    for wanted in ["<pane xSplit=\"1\" ySplit=\"1\"", "state=\"frozen\"", "<autoFilter ref=\"A1:G151\""] {
        assert!(sheet.contains(wanted), "{wanted}");
    }
    let styles = part("xl/styles.xml");
    assert!(styles.contains("formatCode=\"0.0%\""), "{styles}");
    assert!(part("docProps/core.xml").contains("2000-01-01T00:00:00Z"));
}

#[test]
fn pictures_show_the_colours_of_their_chart() {
    for chart in gallery() {
        for (theme, page) in [(Theme::Light, [0xff, 0xff, 0xff]), (Theme::Dark, [0x14, 0x18, 0x1d])] {
            let svg = chart.svg(&SvgOptions { theme, width: 600.0, heading: true });
            let bytes = render::png(&svg, 1.5).expect("a picture");
            let mut reader = png::Decoder::new(Cursor::new(&bytes)).read_info().expect("a PNG file");
            let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
            let info = reader.next_frame(&mut pixels).expect("pixels");
            assert_eq!(info.width, 900);
            assert_eq!(&pixels[..3], page, "{}", chart.name);
            let step = info.color_type.samples();
            let mut colors: Vec<&[u8]> = pixels.chunks_exact(step).collect();
            let ink = colors.iter().filter(|color| color[..3] != page).count();
            assert!(ink * 200 > colors.len(), "{} has {ink} pixels", chart.name);
            colors.sort_unstable();
            colors.dedup();
            assert!(colors.len() > 20, "{}: letters are smooth", chart.name);
        }
    }
}

#[test]
fn a_picture_that_nobody_could_look_at_is_refused() {
    let svg = gallery()[0].svg(&SvgOptions { width: 20_000.0, ..SvgOptions::default() });
    let error = render::png(&svg, 8.0).expect_err("too large");
    assert!(error.to_string().contains("pixels are too many"), "{error}");
    assert!(render::png("<svg", 1.0).is_err());
}

#[test]
fn the_page_is_whole_safe_and_asks_for_nothing() {
    let page = render::html(&document());
    let without_names = page.replace("http://www.w3.org/2000/svg", "");
    for address in ["http:", "https:", "//cdn", "src=\"", "@import"] {
        assert!(!without_names.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("gemm&lt;a &amp; b&gt;") && !page.contains("gemm<a"));
    // No name in the data can close the script element that holds it.
    assert!(page.contains("gemm\\u003ca & b> \\\"日本\\\""));
    assert_eq!(page.matches("<tr><td>kernel_").count(), 19, "a page shows its first rows only");
    assert!(page.contains("\"kernel_149\""), "and carries the others");
    assert!(page.contains("data-tip=\"not recorded\">–"));
}

#[test]
fn markdown_reads_in_order_and_links_pictures() {
    let text = render::markdown_document(&document(), 5, &|chart| Some(format!("run_{chart}.svg")));
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
    assert!(place("## Findings") < place("## Charts") && place("## Charts") < place("### Kernels"));
    place("![Roofline](run_roofline.svg)");
    place("145 more rows");
    place("- **the GPU is idle** (high), saves up to 5.000 ms");
    assert!(!render::markdown_document(&document(), 5, &|_| None).contains("!["));
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    assert_eq!(render::html(&document()), render::html(&document()));
    assert_eq!(render::xlsx(&document()).unwrap(), render::xlsx(&document()).unwrap());
    #[cfg(feature = "pdf")]
    assert_eq!(render::pdf(&document(), 20).unwrap(), render::pdf(&document(), 20).unwrap());
}

#[test]
fn pages_and_markdown_gave_a_verdict_without_saying_that_it_is_not_to_be_trusted() {
    let mut document = document();
    let why_not = vec!["half of <the> graph's kernels are missing".to_string()];
    document.report.verdict =
        Some(Verdict { text: "GPU bound on `a|b`".into(), why_not, ..Verdict::default() });
    let page = render::html(&document);
    assert!(page.contains("not to be trusted") && page.contains("Do not trust this: half of &lt;the&gt;"));
    for text in [render::markdown(&document.report), render::markdown_document(&document, 5, &|_| None)] {
        assert!(text.contains("Do not trust this: half of"), "{text}");
    }
    document.report.verdict = Some(Verdict::default());
    assert!(!render::html(&document).contains("trust"));
}
