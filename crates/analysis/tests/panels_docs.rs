//! docs/panels.md lists every difference from the vendor's formulas in the catalogue.

use rocm_perf_analysis::kernels::panels::catalogue::{ARCHITECTURES, differences};

#[test]
fn the_page_lists_every_difference() {
    let page = include_str!("../../../docs/panels.md");
    let listed: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("| table |")).skip(2).collect();
    let line = |difference: &rocm_perf_analysis::kernels::panels::catalogue::Difference| {
        let all = difference.gpus.len() == ARCHITECTURES.len();
        let gpus = if all { "all".to_string() } else { difference.gpus.join(", ") };
        format!("| {} | {} | {gpus} | {} |", difference.table, difference.metric, difference.why)
    };
    let expected: Vec<String> = differences().iter().map(line).collect();
    assert_eq!(listed[..expected.len()], expected, "the table of docs/panels.md");
    assert!(listed[expected.len()].is_empty(), "differences that do not exist are listed");
}
