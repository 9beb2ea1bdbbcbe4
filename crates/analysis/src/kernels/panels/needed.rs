//! The counters to collect for a choice of panels.

use std::collections::BTreeSet;

use super::catalogue::{ARCHITECTURES, Catalogue, Names, architecture};
use super::expression::{Channel, Expression, parse};
use super::options::Blocks;

/// Names that are not counters.
const NOT_COUNTERS: &[&str] = &[
    "D",
    "N",
    "ACTIVE_CUS",
    "Grid_Size",
    "Workgroup_Size",
    "LDS_Per_Workgroup",
    "Scratch_Per_Workitem",
    "Arch_VGPR",
    "Accum_VGPR",
    "SGPR",
];

/// Needed for every choice: denominators of the normal units.
const ALWAYS: [&str; 2] = ["GRBM_GUI_ACTIVE", "SQ_WAVES"];

/// The counters that panels, tables or metrics need on an architecture, sorted by name without duplicates;
/// empty if the architecture has no catalogue.
///
/// Level metrics need their level counter and its accumulation, `<LEVEL>_ACCUM`. Per-channel L2 counters are
/// listed without the channel: all channels of a counter are collected together.
pub fn counters_needed(arch: &str, blocks: &Blocks) -> Vec<String> {
    let Some(at) = architecture(arch) else { return Vec::new() };
    let catalogue = Catalogue::builtin();
    let mut found: BTreeSet<String> = ALWAYS.iter().map(|name| name.to_string()).collect();
    let asked = |panel: u32| blocks.0.iter().any(|block| block.panel == panel);
    let asks_for_all = catalogue.panels.iter().all(|panel| asked(panel.number));
    for panel in &catalogue.panels {
        // Counters of an optional panel are only collected if its number was requested.
        if panel.optional && (!asked(panel.number) || asks_for_all) {
            continue;
        }
        for table in &panel.tables {
            for metric in &table.metrics {
                let (Some(row), Some(formula)) = (metric.row(at), metric.on(at)) else { continue };
                let wanted = match table.channels {
                    true => blocks.want_table(panel.number, table.number),
                    false => blocks.want_row(panel.number, table.number, row),
                };
                if !wanted {
                    continue;
                }
                let keys = ["value"].into_iter().chain(table.series.iter().map(|series| series.key.as_str()));
                for text in keys.filter_map(|key| formula.text(key, false)) {
                    if let Ok(expression) = parse(text) {
                        gather(&expression, formula.level(false), &catalogue.names, &mut found);
                    }
                }
            }
        }
    }
    // gfx908 and gfx90a spell the fabric's counters without the 0.
    let zero = !matches!(ARCHITECTURES[at], "gfx908" | "gfx90a");
    let spelled = |name: String| match name.strip_prefix("TCC_EA_") {
        Some(rest) if zero => format!("TCC_EA0_{rest}"),
        _ => name,
    };
    found.into_iter().map(spelled).collect()
}

fn gather(expression: &Expression, level: Option<&str>, names: &Names, found: &mut BTreeSet<String>) {
    expression.names(&mut |name, _channel: Option<Channel>| {
        if NOT_COUNTERS.contains(&name.as_str()) || names.facts.contains_key(name) {
            return;
        }
        if let Some(formula) = names.formulas.get(name) {
            return gather(formula, None, names, found);
        }
        match level {
            Some(level) if name == "SQ_ACCUM_PREV_HIRES" => {
                found.insert(level.to_string());
                found.insert(format!("{level}_ACCUM"));
            }
            _ => _ = found.insert(name.to_string()),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(arch: &str, blocks: &[&str]) -> Vec<String> {
        let blocks = Blocks(blocks.iter().map(|block| block.parse().unwrap()).collect());
        counters_needed(arch, &blocks)
    }

    #[test]
    fn exactly_the_counters_of_the_chosen_metrics() {
        assert_eq!(
            needed("gfx942", &["10.1.0"]),
            ["GRBM_GUI_ACTIVE", "SQ_INSTS_MFMA", "SQ_INSTS_VALU", "SQ_WAVES"]
        );
        assert_eq!(
            needed("gfx90a", &["7.2.7"]),
            ["GRBM_GUI_ACTIVE", "SQ_LEVEL_WAVES", "SQ_LEVEL_WAVES_ACCUM", "SQ_WAVES"]
        );
        assert!(needed("gfx942", &["17.2.1"]).contains(&"TCC_EA0_RDREQ_DRAM_sum".to_string()));
        assert!(needed("gfx90a", &["17.2.1"]).contains(&"TCC_EA_RDREQ_DRAM_sum".to_string()));
        assert!(needed("gfx942", &["18.2"]).contains(&"TCC_HIT".to_string()));
        assert!(needed("gfx1100", &[]).is_empty());
        assert!(needed("gfx950", &[]).len() > 300);
        let busy = "GRBM_EA_BUSY".to_string();
        assert!(!needed("gfx950", &[]).contains(&busy) && needed("gfx950", &["30.13"]).contains(&busy));
    }
}
