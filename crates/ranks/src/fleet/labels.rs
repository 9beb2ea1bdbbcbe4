//! Groups over all members, their labels, and the position that they give to members.

use std::collections::BTreeMap;

use trace::Map;

use super::{Fleet, FleetGroup};
use crate::digest::{Group, JobPosition};
use crate::names::GroupKind;

/// Joins equal groups of members, and labels groups and members.
pub(super) fn join_groups(fleet: &mut Fleet, groups: Vec<Vec<Group>>) {
    let mut places: Map<Group, u32> = Map::default();
    let mut found: Vec<(Group, Vec<u32>)> = Vec::new();
    for (member, groups) in groups.into_iter().enumerate() {
        let mut own = Vec::with_capacity(groups.len());
        for group in groups {
            let next = found.len() as u32;
            let place = match places.get(&group) {
                Some(&place) => place,
                None => {
                    places.insert(group.clone(), next);
                    found.push((group, Vec::new()));
                    next
                }
            };
            let members = &mut found[place as usize].1;
            if members.last() != Some(&(member as u32)) {
                members.push(member as u32);
            }
            own.push(place);
        }
        fleet.members[member].groups = own;
    }
    for (group, members) in found {
        let text = if group.description.is_empty() { &group.name } else { &group.description };
        let kind = match GroupKind::of_name(text) {
            GroupKind::Other if members.len() == fleet.members.len() && members.len() > 1 => GroupKind::World,
            kind => kind,
        };
        let is_told = !group.name.starts_with("stream ") || group.size.is_some();
        let label = String::new();
        fleet.groups.push(FleetGroup { name: group.name, kind, label, size: group.size, members, is_told });
    }
    split_shared_names(fleet);
    label_members(fleet);
    label_groups(fleet);
    place_members(fleet);
}

/// Splits groups that share a name, list no ranks, and have more members than their size, by neighbours.
fn split_shared_names(fleet: &mut Fleet) {
    for place in 0..fleet.groups.len() {
        let group = &fleet.groups[place];
        let (members, size) = (group.members.clone(), group.size.unwrap_or(0) as usize);
        if size < 2 || members.len() <= size || members.len() % size != 0 {
            continue;
        }
        let parts = members.len() / size;
        // Ranks that share a layer or experts are neighbours; replicas and stages are a stride apart.
        let is_strided = matches!(group.kind, GroupKind::Data | GroupKind::Pipeline);
        for part in 0..parts {
            let own: Vec<u32> = (0..size)
                .map(|at| if is_strided { members[part + at * parts] } else { members[part * size + at] })
                .collect();
            let target = if part == 0 { place } else { fleet.groups.len() };
            for &member in &own {
                let of_member = &mut fleet.members[member as usize].groups;
                of_member
                    .iter_mut()
                    .filter(|group| **group == place as u32)
                    .for_each(|group| *group = target as u32);
            }
            if part == 0 {
                fleet.groups[place].members = own;
            } else {
                let group = FleetGroup { members: own, ..fleet.groups[place].clone() };
                fleet.groups.push(group);
            }
        }
    }
}

fn label_members(fleet: &mut Fleet) {
    for member in &mut fleet.members {
        member.label = match member.gpu {
            Some(gpu) => format!("{}/{gpu}", member.rank),
            None => member.rank.to_string(),
        };
    }
}

fn label_groups(fleet: &mut Fleet) {
    for place in 0..fleet.groups.len() {
        let group = &fleet.groups[place];
        let ranks: Vec<u32> =
            group.members.iter().map(|&member| fleet.members[member as usize].rank).collect();
        let what = match group.kind {
            GroupKind::Other => group.name.as_str(),
            kind => kind.name(),
        };
        let label = if group.kind == GroupKind::World {
            what.to_string()
        } else {
            format!("{what} {}", ranges(&ranks))
        };
        fleet.groups[place].label = label;
    }
}

/// `0-7`, `0,4,8,12`, `0,8,…,120`.
pub(crate) fn ranges(ranks: &[u32]) -> String {
    let (Some(first), Some(last)) = (ranks.first(), ranks.last()) else { return String::new() };
    if ranks.len() > 1 && (last - first) as usize == ranks.len() - 1 {
        return format!("{first}-{last}");
    }
    let words: Vec<String> = ranks.iter().map(u32::to_string).collect();
    if words.len() > 5 { format!("{},{},…,{last}", words[0], words[1]) } else { words.join(",") }
}

/// Positions from groups, if file names give none.
fn place_members(fleet: &mut Fleet) {
    for kind in [GroupKind::Tensor, GroupKind::Pipeline, GroupKind::Data, GroupKind::Expert] {
        let groups: Vec<&FleetGroup> =
            fleet.groups.iter().filter(|group| group.kind == kind && group.members.len() > 1).collect();
        let mut index: BTreeMap<u32, u32> = BTreeMap::new();
        for group in groups {
            for (at, &member) in group.members.iter().enumerate() {
                index.insert(member, at as u32);
            }
        }
        for (member, at) in index {
            let place: &mut JobPosition = &mut fleet.members[member as usize].place;
            let slot = match kind {
                GroupKind::Tensor => &mut place.tensor,
                GroupKind::Pipeline => &mut place.pipeline,
                GroupKind::Data => &mut place.data,
                _ => &mut place.expert,
            };
            slot.get_or_insert(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn ranks_are_shown_shortly() {
        assert_eq!(ranges(&[0, 1, 2, 3]), "0-3");
        assert_eq!(ranges(&[0, 8, 16]), "0,8,16");
        assert_eq!(ranges(&[0, 8, 16, 24, 32, 40]), "0,8,…,40");
        assert_eq!(ranges(&[5]), "5");
    }
}
