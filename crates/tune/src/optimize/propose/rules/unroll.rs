//! Loop unrolling through the compiler.

use super::{Header, Proposal, Site};

/// Factors to try.
const FACTORS: [u32; 3] = [2, 4, 8];

/// Innermost loops first: they take the most time.
pub(super) fn unroll(site: &Site) -> Vec<Proposal> {
    let source = &site.source.text;
    let mut loops = site.source.loops(site.kernel);
    loops.sort_by_key(|one| (!one.innermost, std::cmp::Reverse(one.depth)));
    let mut proposals = Vec::new();
    for one in loops {
        for factor in FACTORS.into_iter().filter(|factor| one.factor != Some(*factor)) {
            let mut text = source.clone();
            match &one.pragma {
                Some(pragma) => {
                    let end = if source[pragma.clone()].ends_with('\n') { "\n" } else { "" };
                    text.replace_range(pragma.clone(), &format!("#pragma unroll {factor}{end}"));
                }
                None => {
                    let line = source[..one.start].rfind('\n').map_or(0, |at| at + 1);
                    let indent: String =
                        source[line..one.start].chars().take_while(|c| c.is_whitespace()).collect();
                    let own_line = source[line..one.start].trim().is_empty();
                    let pragma = match own_line {
                        true => format!("#pragma unroll {factor}\n{indent}"),
                        false => format!("\n#pragma unroll {factor}\n{indent}"),
                    };
                    text.insert_str(one.start, &pragma);
                }
            }
            let description = format!("unroll the loop in line {} by {factor}", one.line);
            let key = format!("{} by {factor}", one.key);
            proposals.push(site.proposal("unroll", &key, description, text, Header::Identical));
        }
    }
    proposals
}
