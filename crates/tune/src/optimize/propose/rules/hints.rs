//! Hints for the compiler in a kernel's header; what the kernel computes does not change.

use super::{Header, Proposal, Site};

/// Waves per SIMD to compile a kernel for.
const WAVES: [u32; 2] = [2, 4];

pub(super) fn launch_bounds(site: &Site) -> Vec<Proposal> {
    let Some(threads) = site.evidence.workgroup.filter(|_| !site.kernel.launch_bounds) else {
        return Vec::new();
    };
    let mut text = site.source.text.clone();
    text.insert_str(site.kernel.declarator, &format!("__launch_bounds__({threads}) "));
    let description = format!("compile for workgroups of {threads} threads, as in all its dispatches");
    vec![site.proposal("launch_bounds", "", description, text, Header::Hints)]
}

pub(super) fn restrict(site: &Site) -> Vec<Proposal> {
    let all = site.source.pointers(site.kernel);
    let open: Vec<_> = all.iter().filter(|pointer| !pointer.restricted).collect();
    if open.is_empty() || all.len() < 2 {
        return Vec::new();
    }
    let mut text = site.source.text.clone();
    for pointer in open.iter().rev() {
        text.insert_str(pointer.name_start, "__restrict__ ");
    }
    let names: Vec<&str> = open.iter().map(|pointer| pointer.name.as_str()).collect();
    let description = format!("assume that {} do not alias", names.join(", "));
    vec![site.proposal("restrict", "", description, text, Header::Hints)]
}

pub(super) fn waves_per_eu(site: &Site) -> Vec<Proposal> {
    let header = &site.source.text[site.kernel.definition.start..site.kernel.body.start];
    if header.contains("waves_per_eu") {
        return Vec::new();
    }
    let with = |waves: u32| {
        let mut text = site.source.text.clone();
        let attribute = format!("__attribute__((amdgpu_waves_per_eu({waves}))) ");
        text.insert_str(site.kernel.declarator, &attribute);
        let description = format!("compile for at least {waves} waves per SIMD");
        site.proposal("waves_per_eu", &waves.to_string(), description, text, Header::Hints)
    };
    WAVES.into_iter().map(with).collect()
}
