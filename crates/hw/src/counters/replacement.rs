//! What to count instead of a counter that an architecture lacks, from `data/counter_replacements.tsv`.

use super::catalogue::{bare_name, rows, table_of};
use super::find;

const TABLE: &str = include_str!("../../data/counter_replacements.tsv");

/// The replacement for a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The counters to collect instead; empty if there is no replacement.
    pub counters: Vec<String>,
    /// Why, and how to compute the value from them.
    pub why: &'static str,
}

/// What to collect instead of a counter that the architecture does not have.
pub fn replacement(arch: &str, name: &str) -> Option<Replacement> {
    let name = bare_name(name);
    if find(arch, name).is_some() {
        return None;
    }
    let table = table_of(arch);
    rows(TABLE).filter(|row| row[1].split(' ').any(|listed| listed == table)).find_map(|row| {
        let middle = matched(row[0], name)?;
        if row[2] == "-" {
            return Some(Replacement { counters: Vec::new(), why: row[3] });
        }
        let counters: Vec<String> = row[2].split(' ').map(|instead| instead.replace('*', middle)).collect();
        let all_exist = counters.iter().all(|counter| find(arch, counter).is_some());
        all_exist.then_some(Replacement { counters, why: row[3] })
    })
}

/// What the star of a pattern matches in a name, if the pattern fits; empty without a star.
fn matched<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    match pattern.split_once('*') {
        None => (pattern == name).then_some(""),
        Some((before, after)) => name.strip_prefix(before)?.strip_suffix(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instead(arch: &str, name: &str) -> Option<String> {
        replacement(arch, name).map(|replacement| replacement.counters.join(" "))
    }

    #[test]
    fn renamed_and_missing_counters_have_replacements() {
        let cases = [
            ("gfx942", "L2CacheHit", "TCC_HIT_sum TCC_MISS_sum"),
            ("gfx1100", "L2CacheMiss", "GL2C_HIT_sum GL2C_MISS_sum"),
            ("gfx950", "TCC_EA_RDREQ_32B_sum", "TCC_EA0_RDREQ_32B_sum"),
            ("gfx908", "TCC_EA_RDREQ_LEVEL_sum", "TCC_EA0_RDREQ_LEVEL_sum"),
            ("gfx90a", "TCC_EA0_RDREQ_sum", "TCC_EA_RDREQ_sum"),
            ("gfx942", "TCC_EA0_WRREQ_32B_sum", "TCC_EA0_WRREQ_sum TCC_EA0_WRREQ_64B_sum"),
            ("gfx90a", "TCC_EA_WRREQ_32B_sum", "TCC_EA_WRREQ_sum TCC_EA_WRREQ_64B_sum"),
            ("gfx1100", "SQ_LDS_BANK_CONFLICT", "SQC_LDS_BANK_CONFLICT"),
            ("gfx1100", "TCC_HIT_sum", "GL2C_HIT_sum"),
            ("gfx908", "SQ_INSTS_VALU_ADD_F32", ""),
        ];
        for (arch, name, expected) in cases {
            assert_eq!(instead(arch, name).as_deref(), Some(expected), "{arch} {name}");
        }
        assert_eq!(instead("gfx942", "SQ_WAVES"), None, "it is there");
        assert_eq!(instead("gfx942", "NOTHING"), None);
    }

    #[test]
    fn every_row_without_a_star_names_counters_that_exist() {
        for row in rows(TABLE).filter(|row| !row[0].contains('*')) {
            for arch in row[1].split(' ') {
                assert!(find(arch, row[0]).is_none(), "{arch} has {}", row[0]);
                assert!(replacement(arch, row[0]).is_some(), "{arch} {}", row[0]);
            }
        }
    }
}
