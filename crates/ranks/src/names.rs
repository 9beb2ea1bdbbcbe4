//! What names of files and groups say about a rank's position in its job.

use std::path::Path;

use crate::digest::JobPosition;

/// Names of the kinds of groups, in lower case; the first match counts.
const KINDS: &[(&str, GroupKind)] = &[
    ("tensor", GroupKind::Tensor),
    ("expert", GroupKind::Expert),
    ("pipeline", GroupKind::Pipeline),
    ("pipe", GroupKind::Pipeline),
    ("data", GroupKind::Data),
    ("fsdp", GroupKind::Data),
    ("shard", GroupKind::Data),
    ("replica", GroupKind::Data),
    ("tp", GroupKind::Tensor),
    ("ep", GroupKind::Expert),
    ("pp", GroupKind::Pipeline),
    ("dp", GroupKind::Data),
    ("default_pg", GroupKind::World),
    ("world", GroupKind::World),
];

/// What a process group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupKind {
    /// All ranks.
    World,
    /// Ranks that share a layer.
    Tensor,
    /// Stages of a pipeline.
    Pipeline,
    /// Replicas.
    Data,
    /// Ranks that share experts.
    Expert,
    /// The name does not show the kind.
    Other,
}

impl GroupKind {
    /// The kind of group in a description or name.
    pub fn of_name(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let is_word = |short: &str| text.split(|c: char| !c.is_ascii_alphabetic()).any(|word| word == short);
        let found =
            KINDS.iter().find(|(name, _)| if name.len() == 2 { is_word(name) } else { text.contains(name) });
        found.map_or(GroupKind::Other, |entry| entry.1)
    }

    /// Its word in tables.
    pub fn name(self) -> &'static str {
        match self {
            GroupKind::World => "world",
            GroupKind::Tensor => "tensor",
            GroupKind::Pipeline => "pipeline",
            GroupKind::Data => "data",
            GroupKind::Expert => "expert",
            GroupKind::Other => "",
        }
    }
}

/// The position in a path: `-TP-0-DP-1-PP-2`.
pub fn place_of_path(path: &Path) -> JobPosition {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    JobPosition {
        pipeline: number_after(&name, "pp"),
        data: number_after(&name, "dp"),
        tensor: number_after(&name, "tp"),
        expert: number_after(&name, "ep"),
    }
}

fn number_after(name: &str, word: &str) -> Option<u32> {
    name.match_indices(word).find_map(|(at, _)| {
        let before = name[..at].chars().next_back();
        if before.is_some_and(|c| c.is_ascii_alphanumeric()) {
            return None;
        }
        let rest = &name[at + word.len()..];
        let rest = rest.strip_prefix(['-', '_', '.', '=']).unwrap_or(rest);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().ok()
    })
}

/// The rack in a host name: `rack07-node3`, `r12n03`, `r1i2n3` (HPE, SGI), `x1000c0s0b0n0` (Cray cabinet).
pub(crate) fn rack_of(host: &str) -> Option<String> {
    let host = host.split('.').next()?.to_ascii_lowercase();
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
    let is_word = |at: usize| !host[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
    if let Some((at, _)) = host.match_indices("rack").find(|(at, _)| is_word(*at)) {
        let name = host[at + "rack".len()..].trim_start_matches(['-', '_']);
        let length = name.chars().take_while(char::is_ascii_alphanumeric).count();
        let number = digits(name);
        // `rack7n3` is rack 7; `rackb07-n3` is rack b07.
        let length = if number > 0 { number } else { length };
        return (length > 0).then(|| name[..length].to_string());
    }
    let numbered = |letter: char, then: &[char]| {
        let rest = host.strip_prefix(letter)?;
        let (number, after) = rest.split_at(digits(rest));
        let after = after.trim_start_matches(['-', '_']);
        let follows = after.starts_with(then) && after[1..].starts_with(|c: char| c.is_ascii_digit());
        (!number.is_empty() && follows).then(|| format!("{letter}{number}"))
    };
    numbered('x', &['c']).or_else(|| numbered('r', &['n', 'i', 'c', 's', 'u']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_groups_tell_what_they_are_for() {
        for (name, kind) in [
            ("TENSOR_MODEL_PARALLEL_GROUP", GroupKind::Tensor),
            ("tp:0", GroupKind::Tensor),
            ("DATA_PARALLEL_GROUP_WITH_CP", GroupKind::Data),
            ("mesh_pp", GroupKind::Pipeline),
            ("EXPERT_MODEL_PARALLEL_GROUP", GroupKind::Expert),
            ("default_pg", GroupKind::World),
            ("http", GroupKind::Other),
            ("17", GroupKind::Other),
        ] {
            assert_eq!(GroupKind::of_name(name), kind, "{name}");
        }
    }

    #[test]
    fn places_are_found_in_names_of_files() {
        let place = place_of_path(Path::new("runs/1700.5-TP-1-DP-0-PP-2-EXTEND.trace.json.gz"));
        assert_eq!(place, JobPosition { pipeline: Some(2), data: Some(0), tensor: Some(1), expert: None });
        assert!(place_of_path(Path::new("rank0.json")).is_unknown());
    }

    #[test]
    fn racks_come_from_names_of_hosts() {
        let of = |host: &str| rack_of(host).unwrap_or_default();
        assert_eq!(
            (of("rack07-node3"), of("gpu-rackb07-n3.example"), of("rack_2n1")),
            ("07".into(), "b07".into(), "2".into())
        );
        assert_eq!(
            (of("r12n03"), of("R1i2n3"), of("x1000c0s0b0n0")),
            ("r12".into(), "r1".into(), "x1000".into())
        );
        for host in ["", "mi300x-01", "node00001", "rome3", "tracker5", "rack", "x", "r2", "x7"] {
            assert_eq!(rack_of(host), None, "{host}");
        }
    }
}
