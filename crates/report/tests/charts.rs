//! Charts of every mark: well-formed, inside their canvas, with labels that do not cover each other.

mod gallery;

use gallery::gallery;
use rocm_perf_report::chart::{Bars, Chart, Mark, SvgOptions, Theme};
use roxmltree::{Document, Node};

fn number(node: &Node, name: &str) -> f64 {
    node.attribute(name).and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

/// Left, right, top and bottom of a horizontal text, estimated independently: letters are half as wide as
/// high.
fn text_box(node: &Node) -> (f64, f64, f64, f64) {
    let words = node.text().unwrap_or("");
    let (x, y, size) = (number(node, "x"), number(node, "y"), number(node, "font-size"));
    let width = 0.5 * size * words.chars().count() as f64;
    let left = match node.attribute("text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    (left, left + width, y - 0.7 * size, y + 0.1 * size)
}

#[test]
fn every_mark_is_well_formed_and_stays_on_its_canvas() {
    for chart in gallery() {
        for (theme, width) in [(Theme::Light, 880.0), (Theme::Dark, 480.0), (Theme::Page, 1200.0)] {
            let svg = chart.svg(&SvgOptions { theme, width, heading: theme != Theme::Page });
            let document = Document::parse(&svg).unwrap_or_else(|e| panic!("{}: {e}\n{svg}", chart.name));
            let root = document.root_element();
            let (right, bottom) = (number(&root, "width"), number(&root, "height"));
            assert_eq!(right, width);
            for node in document.descendants().filter(|node| node.has_tag_name("rect")) {
                let (x, y) = (number(&node, "x"), number(&node, "y"));
                let (w, h) = (number(&node, "width"), number(&node, "height"));
                let inside = x >= -0.01 && y >= -0.01 && x + w <= right + 0.01 && y + h <= bottom + 0.01;
                assert!(inside, "{} at {width}: box {x} {y} {w} {h}", chart.name);
            }
            for node in document.descendants().filter(|node| node.has_tag_name("text")) {
                let turned = node.attribute("transform").is_some();
                let left = if turned { number(&node, "x") } else { text_box(&node).0 };
                let (x, y) = (number(&node, "x"), number(&node, "y"));
                let inside = left >= -8.0 && x <= right && y >= 0.0 && y <= bottom;
                assert!(inside, "{} at {width}: `{}` at {x} {y}", chart.name, node.text().unwrap_or(""));
            }
        }
    }
}

#[test]
fn labels_do_not_cover_each_other() {
    for chart in gallery() {
        for width in [400.0, 640.0, 880.0, 1200.0] {
            let svg = chart.svg(&SvgOptions { width, ..SvgOptions::default() });
            let document = Document::parse(&svg).unwrap();
            let level = |node: &Node| node.has_tag_name("text") && node.attribute("transform").is_none();
            let texts: Vec<Node> = document.descendants().filter(level).collect();
            for (i, a) in texts.iter().enumerate() {
                for b in &texts[i + 1..] {
                    let ((al, ar, at, ab), (bl, br, bt, bb)) = (text_box(a), text_box(b));
                    let apart = ar <= bl || br <= al || ab <= bt || bb <= at;
                    let words = (a.text(), b.text());
                    assert!(
                        apart,
                        "{} at {width}: {words:?} {:?} {:?}",
                        chart.name,
                        text_box(a),
                        text_box(b)
                    );
                }
            }
        }
    }
}

#[test]
fn themes_differ_in_colours_only() {
    for chart in gallery() {
        let light = chart.svg(&SvgOptions::default());
        let dark = chart.svg(&SvgOptions { theme: Theme::Dark, ..SvgOptions::default() });
        let plain = |svg: &str| {
            let mut text = String::new();
            let mut rest = svg;
            while let Some(at) = rest.find('#') {
                text.push_str(&rest[..at]);
                rest = &rest[(at + 7).min(rest.len())..];
            }
            text + rest
        };
        assert_ne!(light, dark);
        assert_eq!(plain(&light), plain(&dark), "{}", chart.name);
    }
}

#[test]
fn pointing_is_native_in_files_and_left_to_the_page_in_pages() {
    let chart = &gallery()[0];
    let file = chart.svg(&SvgOptions::default());
    assert!(file.contains("<title>") && !file.contains("data-tip"));
    let page = chart.svg(&SvgOptions { theme: Theme::Page, heading: false, ..SvgOptions::default() });
    assert!(!page.contains("<title>") && page.contains("data-tip") && page.contains("var(--series-1)"));
}

#[test]
fn an_empty_chart_says_so() {
    let chart = Chart::new("none", "None", Mark::Bars(Bars::across()));
    assert!(chart.is_empty());
    assert!(chart.svg(&SvgOptions::default()).contains("nothing to show"));
}
