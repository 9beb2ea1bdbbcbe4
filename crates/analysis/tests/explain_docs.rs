//! docs/explain.md lists the rules of the code.

use rocm_perf_analysis::explain::RULES;

#[test]
fn the_page_lists_every_rule() {
    let page = include_str!("../../../docs/explain.md");
    let listed: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("| rule |")).skip(2).collect();
    let expected: Vec<String> =
        RULES.iter().map(|rule| format!("| `{}` | {} | {} |", rule.id, rule.finds, rule.needs)).collect();
    assert_eq!(listed[..expected.len()], expected, "the table of docs/explain.md");
    assert!(listed[expected.len()].is_empty(), "rules that do not exist are listed");
}
