//! Process groups: which ranks communicate with each other, as Megatron lays them out.
//!
//! Ranks count tensor first, then data, then pipeline: rank = tensor + T × (data + D × stage). Expert groups are
//! neighbours within a data group.

use serde::{Deserialize, Serialize};

use crate::Error;

/// Numbers of meetings between two ranks, apart from those of groups.
pub(crate) const P2P: u64 = 1 << 63;

/// What the ranks of a group share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupKind {
    /// All ranks.
    #[default]
    World,
    /// Ranks that split the layers of one model.
    Tensor,
    /// Ranks that hold different layers of one model.
    Pipeline,
    /// Ranks that hold the same layers.
    Data,
    /// Ranks that hold different experts.
    Expert,
}

impl GroupKind {
    /// All of them, in the order their groups are made.
    pub const ALL: [GroupKind; 5] =
        [GroupKind::World, GroupKind::Tensor, GroupKind::Pipeline, GroupKind::Data, GroupKind::Expert];

    /// The name in scenario files and options.
    pub fn name(self) -> &'static str {
        ["world", "tensor", "pipeline", "data", "expert"][self as usize]
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What frameworks call such a group.
    pub(crate) fn description(self) -> &'static str {
        [
            "default_pg",
            "TENSOR_MODEL_PARALLEL_GROUP",
            "PIPELINE_MODEL_PARALLEL_GROUP",
            "DATA_PARALLEL_GROUP",
            "EXPERT_MODEL_PARALLEL_GROUP",
        ][self as usize]
    }
}

/// Sizes of groups; data groups get the remaining factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parallelism {
    /// Ranks of a tensor group.
    pub tensor: Option<u32>,
    /// Pipeline stages.
    pub pipeline: Option<u32>,
    /// Ranks of an expert group.
    pub expert: Option<u32>,
}

/// Which ranks are in which group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub ranks: u32,
    tensor: u32,
    pipeline: u32,
    data: u32,
    expert: u32,
    /// Whether any group but the world is used.
    pub split: bool,
}

impl Layout {
    pub(crate) fn new(ranks: u32, sizes: [u32; 3], split: bool) -> Result<Self, Error> {
        let [tensor, pipeline, expert] = sizes.map(|size| size.max(1));
        let model = u64::from(tensor) * u64::from(pipeline);
        if u64::from(ranks) % model != 0 {
            let parts = format!("{tensor} tensor × {pipeline} pipeline ranks");
            return Err(Error::Options(format!("{ranks} ranks cannot be split into {parts}")));
        }
        let data = (u64::from(ranks) / model) as u32;
        if !data.is_multiple_of(expert) {
            let what = format!("{data} data-parallel ranks cannot be split into groups of {expert} experts");
            return Err(Error::Options(what));
        }
        Ok(Self { ranks, tensor, pipeline, data, expert, split })
    }

    /// Ranks of a group of this kind.
    pub(crate) fn size(&self, kind: GroupKind) -> u32 {
        match kind {
            GroupKind::World => self.ranks,
            GroupKind::Tensor => self.tensor,
            GroupKind::Pipeline => self.pipeline,
            GroupKind::Data => self.data,
            GroupKind::Expert => self.expert,
        }
    }

    pub(crate) fn stages(&self) -> u32 {
        self.pipeline
    }

    /// (place in the tensor group, in the data group, stage).
    fn place(&self, rank: u32) -> (u32, u32, u32) {
        (rank % self.tensor, rank / self.tensor % self.data, rank / (self.tensor * self.data))
    }

    pub(crate) fn stage(&self, rank: u32) -> u32 {
        self.place(rank).2
    }

    /// Number of the first group of a kind, among all groups.
    fn first(&self, kind: GroupKind) -> u32 {
        GroupKind::ALL.into_iter().take_while(|k| *k != kind).map(|k| self.ranks / self.size(k)).sum()
    }

    /// How many groups of a kind there are.
    pub(crate) fn count(&self, kind: GroupKind) -> u32 {
        self.ranks / self.size(kind)
    }

    /// Number of the rank's group among those of its kind.
    pub(crate) fn index(&self, kind: GroupKind, rank: u32) -> u32 {
        let (tensor, data, stage) = self.place(rank);
        match kind {
            GroupKind::World => 0,
            GroupKind::Tensor => data + self.data * stage,
            GroupKind::Pipeline => tensor + self.tensor * data,
            GroupKind::Data => tensor + self.tensor * stage,
            GroupKind::Expert => {
                let per_data = self.data / self.expert;
                (tensor + self.tensor * stage) * per_data + data / self.expert
            }
        }
    }

    /// Number of the rank's group among all groups: its name in the trace.
    pub(crate) fn group(&self, kind: GroupKind, rank: u32) -> u32 {
        self.first(kind) + self.index(kind, rank)
    }

    /// The ranks of the group with this number among all groups.
    pub(crate) fn ranks_of(&self, group: u32) -> Vec<u32> {
        let kind =
            GroupKind::ALL.into_iter().rev().find(|kind| self.first(*kind) <= group).unwrap_or_default();
        self.members(kind, group - self.first(kind))
    }

    /// The ranks of a group, in order.
    pub(crate) fn members(&self, kind: GroupKind, index: u32) -> Vec<u32> {
        let rank = |tensor: u32, data: u32, stage: u32| tensor + self.tensor * (data + self.data * stage);
        match kind {
            GroupKind::World => (0..self.ranks).collect(),
            GroupKind::Tensor => {
                (0..self.tensor).map(|t| rank(t, index % self.data, index / self.data)).collect()
            }
            GroupKind::Pipeline => {
                (0..self.pipeline).map(|s| rank(index % self.tensor, index / self.tensor, s)).collect()
            }
            GroupKind::Data => {
                (0..self.data).map(|d| rank(index % self.tensor, d, index / self.tensor)).collect()
            }
            GroupKind::Expert => {
                let per_data = self.data / self.expert;
                let (of, part) = (index / per_data, index % per_data);
                let from = part * self.expert;
                (from..from + self.expert).map(|d| rank(of % self.tensor, d, of / self.tensor)).collect()
            }
        }
    }

    /// The rank that holds the next (or previous) layers of the same model.
    pub(crate) fn neighbour(&self, rank: u32, next: bool) -> Option<u32> {
        let stage = self.stage(rank);
        let model = self.tensor * self.data;
        if next {
            (stage + 1 < self.pipeline).then(|| rank + model)
        } else {
            (stage > 0).then(|| rank - model)
        }
    }

    /// Kinds of groups that a trace records.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = GroupKind> {
        let told = |kind: &GroupKind| *kind == GroupKind::World || self.split && self.size(*kind) > 1;
        GroupKind::ALL.into_iter().filter(move |kind| told(kind)).collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_in_one_group_of_each_kind() {
        let layout = Layout::new(32, [2, 4, 2], true).unwrap();
        let mut names = std::collections::BTreeSet::new();
        for kind in GroupKind::ALL {
            let mut seen = Vec::new();
            for index in 0..layout.count(kind) {
                for rank in layout.members(kind, index) {
                    assert_eq!(layout.index(kind, rank), index, "{kind:?}");
                    seen.push(rank);
                }
                names.insert(layout.group(kind, layout.members(kind, index)[0]));
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..32).collect::<Vec<_>>(), "{kind:?}");
        }
        assert_eq!(names.len() as u32, GroupKind::ALL.iter().map(|k| layout.count(*k)).sum::<u32>());
        assert_eq!(layout.neighbour(0, true), Some(8));
        assert_eq!((layout.neighbour(0, false), layout.neighbour(31, true)), (None, None));
    }

    #[test]
    fn sizes_that_do_not_divide_are_refused() {
        assert!(Layout::new(8, [3, 1, 1], true).is_err());
        assert!(Layout::new(8, [2, 2, 4], true).is_err());
    }
}
