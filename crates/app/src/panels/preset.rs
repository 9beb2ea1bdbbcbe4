//! The counters of presets with panels: they follow from the GPU and the requested panels.

use std::path::Path;

use analysis::kernels::panels::{Blocks, counters_needed};
use collect::presets::Preset;
use report::Remedy;

use super::blocks;
use crate::failure::Failure;

/// Adds the counters of panels to a preset that has panels; other presets accept no blocks.
pub fn choose_counters(preset: &mut Preset, arch: Option<&str>, block: &[String]) -> Result<(), Failure> {
    if !preset.panels {
        return match block.first() {
            None => Ok(()),
            Some(block) => Err(Failure::input(format!("the block `{block}` belongs to the preset `panels`"))
                .with_help(Remedy::PanelCounters(block.clone()))),
        };
    }
    let blocks = blocks(block)?;
    let found = || collect::gpus::detect(Path::new("/")).gpus.first().map(|gpu| gpu.arch.clone());
    let Some(arch) = arch.map(str::to_owned).or_else(found) else {
        return Err(Failure::input("the counters of panels depend on the GPU, and none was found here")
            .with_help(Remedy::Arch));
    };
    preset.counters.extend(needed(&arch, &blocks)?);
    Ok(())
}

fn needed(arch: &str, blocks: &Blocks) -> Result<Vec<String>, Failure> {
    let counters = counters_needed(hw::arch::base_name(arch), blocks);
    if counters.is_empty() {
        return Err(Failure::input(format!("there are no panels for `{arch}`"))
            .with_help("there are panels for gfx908, gfx90a, gfx940, gfx941, gfx942 and gfx950"));
    }
    Ok(counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_decide_which_counters_are_collected() {
        let counters = |block: &[&str]| {
            let mut preset = Preset { panels: true, ..Preset::default() };
            let block: Vec<String> = block.iter().map(|text| text.to_string()).collect();
            choose_counters(&mut preset, Some("gfx942:sramecc+:xnack-"), &block).expect("a known GPU");
            preset.counters
        };
        let (all, few) = (counters(&[]), counters(&["6.1"]));
        assert!(few.len() < all.len() && few.iter().all(|name| all.contains(name)), "{few:?}");
        assert!(few.contains(&"SPI_CSN_BUSY".to_string()), "{few:?}");
        assert!(!few.iter().any(|name| name.starts_with("TCC_")), "{few:?}");
    }

    #[test]
    fn blocks_of_other_presets_and_unknown_gpus_are_refused() {
        let mut preset = Preset::of("compute", &["kernel"], &[]);
        assert!(choose_counters(&mut preset, None, &["2".into()]).is_err());
        let mut preset = Preset { panels: true, ..Preset::default() };
        assert!(choose_counters(&mut preset, Some("gfx1100"), &[]).is_err());
    }
}
