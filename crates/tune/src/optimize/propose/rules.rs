//! The rule library: changes that leave what a kernel computes alone, one by one.

use super::{Evidence, Proposal};
use crate::optimize::guard::Header;
use crate::optimize::source::{Kernel, Source};

/// Factors of loop unrolling.
const UNROLL: [u32; 3] = [2, 4, 8];
/// Waves for each SIMD that a kernel may be compiled for.
const WAVES: [u32; 2] = [2, 4];

/// Names of the rules with what they do, in the order they are tried.
pub const RULES: &[(&str, &str)] = &[
    ("unroll", "unrolls a loop by 2, 4 or 8, through the compiler"),
    ("launch_bounds", "tells the compiler the workgroup size that the profile shows"),
    ("restrict", "tells the compiler that pointer arguments do not overlap"),
    ("nontemporal_store", "stores past the cache, for results that are not read again soon"),
    ("waves_per_eu", "asks for registers few enough for more waves"),
];

/// Proposals of these rules for a kernel.
pub fn proposals(source: &Source, kernel: &Kernel, evidence: &Evidence, rules: &[String]) -> Vec<Proposal> {
    let wanted = |rule: &str| rules.is_empty() || rules.iter().any(|name| name == rule);
    let mut proposals = Vec::new();
    if wanted("unroll") {
        proposals.extend(unroll(source, kernel));
    }
    if wanted("launch_bounds") {
        proposals.extend(launch_bounds(source, kernel, evidence));
    }
    if wanted("restrict") {
        proposals.extend(restrict(source, kernel));
    }
    if wanted("nontemporal_store") {
        proposals.extend(nontemporal_store(source, kernel));
    }
    if wanted("waves_per_eu") {
        proposals.extend(WAVES.iter().map(|waves| waves_per_eu(source, kernel, *waves)));
    }
    proposals
}

fn proposal(rule: &str, description: String, text: String, header: Header) -> Proposal {
    Proposal { origin: format!("rule {rule}"), description, text, header }
}

/// Innermost loops first: they are where the time goes.
fn unroll(source: &Source, kernel: &Kernel) -> Vec<Proposal> {
    let mut loops = source.loops(kernel);
    loops.sort_by_key(|one| (!one.innermost, std::cmp::Reverse(one.depth)));
    let mut proposals = Vec::new();
    for one in loops {
        for factor in UNROLL {
            let mut text = source.text.clone();
            match &one.pragma {
                Some(pragma) => {
                    let old = &source.text[pragma.clone()];
                    let end = if old.ends_with('\n') { "\n" } else { "" };
                    text.replace_range(pragma.clone(), &format!("#pragma unroll {factor}{end}"));
                }
                None => {
                    let line = source.text[..one.start].rfind('\n').map_or(0, |at| at + 1);
                    let indent: String =
                        source.text[line..one.start].chars().take_while(|c| c.is_whitespace()).collect();
                    let own_line = source.text[line..one.start].trim().is_empty();
                    let pragma = match own_line {
                        true => format!("#pragma unroll {factor}\n{indent}"),
                        false => format!("\n#pragma unroll {factor}\n{indent}"),
                    };
                    text.insert_str(one.start, &pragma);
                }
            }
            let description = format!("unroll the loop in line {} by {factor}", one.line);
            proposals.push(proposal("unroll", description, text, Header::Identical));
        }
    }
    proposals
}

fn launch_bounds(source: &Source, kernel: &Kernel, evidence: &Evidence) -> Option<Proposal> {
    let threads = evidence.workgroup.filter(|_| !kernel.launch_bounds)?;
    let mut text = source.text.clone();
    text.insert_str(kernel.declarator, &format!("__launch_bounds__({threads}) "));
    let description = format!("compile for workgroups of {threads}, as all its dispatches have");
    Some(proposal("launch_bounds", description, text, Header::Hints))
}

fn restrict(source: &Source, kernel: &Kernel) -> Option<Proposal> {
    let open: Vec<_> = source.pointers(kernel).into_iter().filter(|pointer| !pointer.restricted).collect();
    if open.is_empty() || source.pointers(kernel).len() < 2 {
        return None;
    }
    let mut text = source.text.clone();
    for pointer in open.iter().rev() {
        text.insert_str(pointer.name_start, "__restrict__ ");
    }
    let names: Vec<&str> = open.iter().map(|pointer| pointer.name.as_str()).collect();
    let description = format!("assume that {} overlap nothing", names.join(", "));
    Some(proposal("restrict", description, text, Header::Hints))
}

fn nontemporal_store(source: &Source, kernel: &Kernel) -> Option<Proposal> {
    let stores = source.stores(kernel);
    if stores.is_empty() {
        return None;
    }
    let mut text = source.text.clone();
    for (whole, target, value) in stores.iter().rev() {
        let (target, value) = (&source.text[target.clone()], &source.text[value.clone()]);
        text.replace_range(whole.clone(), &format!("__builtin_nontemporal_store({value}, &{target})"));
    }
    let places = if stores.len() == 1 { "1 place".to_string() } else { format!("{} places", stores.len()) };
    let description = format!("store past the cache in {places}");
    Some(proposal("nontemporal_store", description, text, Header::Identical))
}

fn waves_per_eu(source: &Source, kernel: &Kernel, waves: u32) -> Proposal {
    let mut text = source.text.clone();
    text.insert_str(kernel.declarator, &format!("__attribute__((amdgpu_waves_per_eu({waves}))) "));
    proposal("waves_per_eu", format!("compile for at least {waves} waves a SIMD"), text, Header::Hints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::guard;

    const TEXT: &str = "__global__ void add(const float* x, float* y, int n) {\n  for (int i = 0; i < n; ++i) {\n    #pragma unroll 3\n    for (int j = 0; j < 4; ++j) y[i] += x[j];\n    y[i] = x[i] * 2;\n  }\n}\n";

    /// Every built-in rule must pass the guards that all proposals pass.
    #[test]
    fn rules_pass_their_own_guards() {
        let source = Source::parse(TEXT).unwrap();
        let kernel = source.kernels().remove(0);
        let evidence = Evidence { workgroup: Some(256), ..Evidence::default() };
        let all = proposals(&source, &kernel, &evidence, &[]);
        for proposal in &all {
            let verdict = guard::check(&source, &kernel, &proposal.text, proposal.header);
            assert_eq!(verdict, Ok(()), "{}\n{}", proposal.description, proposal.text);
        }
        insta::assert_snapshot!(
            all.iter()
                .map(|one| format!("{}: {}\n{}", one.origin, one.description, one.text))
                .collect::<Vec<_>>()
                .join("\n")
        );
        let only = proposals(&source, &kernel, &evidence, &["restrict".into()]);
        assert_eq!(only.len(), 1);
        assert_eq!(proposals(&source, &kernel, &Evidence::default(), &["launch_bounds".into()]), []);
    }
}
