//! Detects configurations that cannot be launched: from the space's `resources` before anything runs, from the code
//! object after a build.

use std::collections::HashMap;
use std::path::Path;

use hw::arch::Arch;
use hw::code_object;
use hw::occupancy::{KernelResources, theoretical};

use crate::space::{Candidates, Resource, Space};

/// A configuration that was skipped, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Skipped {
    /// Its levels.
    pub levels: Vec<u16>,
    /// Which limit it exceeds.
    pub reason: String,
}

/// Files larger than this are not searched for kernels.
const LARGEST: u64 = 1 << 30;

/// Separates configurations that can be launched from those that cannot.
pub fn part(space: &Space, candidates: Candidates, arch: Option<&Arch>) -> (Candidates, Vec<Skipped>) {
    let Some(arch) = arch.filter(|_| !space.resources.is_empty()) else { return (candidates, Vec::new()) };
    // Thousands of configurations need few different amounts.
    let mut known: HashMap<[Option<u32>; 4], Option<String>> = HashMap::new();
    let mut skipped = Vec::new();
    let mut fits = Vec::with_capacity(candidates.len());
    for levels in candidates.iter() {
        let amounts = [Resource::Lds, Resource::Vgpr, Resource::Agpr, Resource::Threads]
            .map(|resource| space.resources.amount(resource, space, levels));
        let problem = known.entry(amounts).or_insert_with(|| theoretical(arch, &taken(amounts)).problem);
        fits.push(problem.is_none());
        if let Some(reason) = problem {
            skipped.push(Skipped { levels: levels.to_vec(), reason: reason.clone() });
        }
    }
    (candidates.only(&fits), skipped)
}

fn taken([lds_bytes, vgpr, agpr, threads]: [Option<u32>; 4]) -> KernelResources {
    let usual = KernelResources::default();
    KernelResources {
        lds_bytes: lds_bytes.unwrap_or(usual.lds_bytes),
        vgpr: vgpr.unwrap_or(usual.vgpr),
        agpr: agpr.unwrap_or(usual.agpr),
        workgroup: threads.unwrap_or(usual.workgroup),
        ..usual
    }
}

/// Why no kernel of a built file can be launched with this many threads; `None` if one can, or nothing is
/// known.
pub fn problem_of_build(file: &Path, arch: &Arch, threads: Option<u32>) -> Option<String> {
    if std::fs::metadata(file).ok()?.len() > LARGEST {
        return None;
    }
    let bytes = std::fs::read(file).ok()?;
    if !code_object::is_code(&bytes) {
        return None;
    }
    let kernels = code_object::read(&bytes).ok()?;
    let mut problem = None;
    for kernel in kernels.iter().filter(|kernel| kernel.arch().is_some_and(|of| of.name == arch.name)) {
        let threads = threads.or(kernel.required_workgroup.and(kernel.workgroup()))?;
        let bound = kernel.max_workgroup.filter(|most| threads > *most);
        let bound =
            bound.map(|most| format!("compiled for at most {most} threads per workgroup, not {threads}"));
        let reason = bound.or(theoretical(arch, &kernel.resources(threads, 0)).problem)?;
        problem.get_or_insert(format!("kernel `{}`: {reason}", kernel.name));
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_launched_is_left_out_with_its_reason() {
        let text = r#"{"params": {"M": [64, 128, 256], "stages": [1, 2, 4], "warps": [4, 32]},
            "resources": {"lds_bytes": "M * 64 * 2 * stages", "threads": "warps * 64"}}"#;
        let space = Space::parse(text).unwrap();
        let all = space.candidates(0).unwrap();
        let (kept, skipped) = part(&space, all.clone(), hw::arch::find("gfx942"));
        // Computed by hand: 64 KiB of LDS, 1024 threads.
        let fits = |levels: &&[u16]| {
            let number = |p: usize| space.settings(levels)[p].1.number().unwrap();
            number(0) * 128.0 * number(1) <= 65536.0 && number(2) * 64.0 <= 1024.0
        };
        let expected: Vec<&[u16]> = all.iter().filter(fits).collect();
        assert_eq!(kept.iter().collect::<Vec<_>>(), expected);
        assert_eq!(kept.len() + skipped.len(), 18);
        assert_eq!(skipped[0].reason, "a workgroup has at most 1024 threads, not 2048");
        assert!(
            skipped.iter().any(|one| one.reason == "a workgroup has at most 65536 bytes of LDS, not 131072")
        );
        // Without a GPU or formulas nothing is known, and nothing is skipped.
        assert_eq!(part(&space, all.clone(), None).1, []);
        assert_eq!(part(&Space::parse(r#"{"M": [1]}"#).unwrap(), all, hw::arch::find("gfx942")).1, []);
    }
}
