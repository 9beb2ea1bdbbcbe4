//! Injected faults of a run's ranks: clocks, stragglers, links.

use std::str::FromStr;

use stats::random::{mix, unit};

use super::groups::{GroupKind, Layout};
use crate::Error;

/// Why a rank is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It runs more kernels.
    MoreWork,
    /// Its kernels have larger grids and take longer.
    LargerKernels,
    /// One kernel takes longer for the same work.
    SlowerKernels,
    /// Its GPU runs at a lower clock: all kernels that compute bounds take longer.
    LowerClocks,
    /// Its host waits for data at the start of every step.
    DataLoader,
    /// Its host collects garbage at the start of every fourth step.
    GcPause,
}

impl Cause {
    const ALL: [(&'static str, Cause, &'static str); 6] = [
        ("more-work", Cause::MoreWork, "more-work"),
        ("larger-kernels", Cause::LargerKernels, "more-work"),
        ("slower-kernels", Cause::SlowerKernels, "slower-kernels"),
        ("lower-clocks", Cause::LowerClocks, "lower-clocks"),
        ("data-loader", Cause::DataLoader, "host-idle"),
        ("gc-pause", Cause::GcPause, "host-idle"),
    ];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// What an analysis should call it.
    pub fn kind(self) -> &'static str {
        Self::ALL[self as usize].2
    }
}

/// Which rank, or which group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// This one.
    Number(u32),
    /// One that the seed chooses.
    Any,
}

impl Where {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "any" {
            return Ok(Where::Any);
        }
        text.parse().map(Where::Number).map_err(|_| format!("`{text}` is neither a number nor `any`"))
    }

    fn choose(self, among: u32, seed: u64) -> u32 {
        match self {
            Where::Number(number) => number,
            Where::Any => (mix(seed) % u64::from(among.max(1))) as u32,
        }
    }
}

/// A rank that is late.
#[derive(Clone, Debug, PartialEq)]
pub struct Straggler {
    /// Which rank.
    pub rank: Where,
    /// Why.
    pub cause: Cause,
    /// How many times longer its own work takes.
    pub factor: f64,
    /// The slower kernel; by default the one that takes most time.
    pub kernel: Option<String>,
}

impl FromStr for Straggler {
    type Err = String;

    /// `3:lower-clocks:1.3`, `any:slower-kernels:1.5:gemm`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(4, ':').map(str::trim);
        let (Some(rank), Some(cause), Some(factor)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("write it as RANK:CAUSE:FACTOR, such as 3:lower-clocks:1.3".into());
        };
        let names = || Cause::ALL.map(|(name, ..)| name).join(", ");
        let known = Cause::ALL.iter().find(|(name, ..)| *name == cause);
        let (_, cause, _) = known.ok_or_else(|| format!("`{cause}` is not one of {}", names()))?;
        let kernel = parts.next().map(str::to_string);
        if kernel.is_some() && *cause != Cause::SlowerKernels {
            return Err("only slower-kernels takes the name of a kernel".into());
        }
        Ok(Self { rank: Where::parse(rank)?, cause: *cause, factor: factor_of(factor)?, kernel })
    }
}

/// A link over which transfers take longer.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowLink {
    /// Which groups are affected.
    pub kind: GroupKind,
    /// Which of these groups.
    pub index: Where,
    /// How many times longer transfers take.
    pub factor: f64,
}

impl FromStr for SlowLink {
    type Err = String;

    /// `data:1:2.5`, `tensor:any:3`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let [kind, index, factor] = parts[..] else {
            return Err("write it as KIND:INDEX:FACTOR, such as data:1:2.5".into());
        };
        let names = || GroupKind::ALL.map(GroupKind::name).join(", ");
        let kind = GroupKind::from_name(kind).ok_or_else(|| format!("`{kind}` is not one of {}", names()))?;
        Ok(Self { kind, index: Where::parse(index)?, factor: factor_of(factor)? })
    }
}

fn factor_of(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if !(factor > 1.0 && factor <= 1000.0) {
        return Err("the factor must be above 1 and at most 1000".into());
    }
    Ok(factor)
}

/// Everything that is wrong with the ranks of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Clocks are off by up to this many milliseconds, either way.
    pub clock_offset_ms: Option<f64>,
    /// Clocks drift by up to this many parts per million, either way.
    pub drift_ppm: Option<f64>,
    /// Late ranks.
    pub stragglers: Vec<Straggler>,
    /// Slow links.
    pub slow_links: Vec<SlowLink>,
    /// Relative spread of the tokens that experts get; zero: none.
    pub expert_skew: f64,
}

/// Faults with every `any` chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    pub stragglers: Vec<(u32, Straggler)>,
    pub slow_links: Vec<(u32, SlowLink)>,
    /// Share of the mean number of tokens that each rank's experts get; empty if all get the same.
    pub loads: Vec<f64>,
    clocks: Vec<(f64, f64)>,
}

/// Draws of faults are far from those of the run.
const DRAWS: u64 = 0x6661_756c_7473;

impl Resolved {
    pub(crate) fn of(faults: &Faults, layout: &Layout, seed: u64) -> Result<Self, Error> {
        let draw = |purpose: u64, number: u64| mix(mix(seed ^ DRAWS) ^ (purpose << 48) ^ number);
        let mut resolved = Self::default();
        for (number, straggler) in faults.stragglers.iter().enumerate() {
            let rank = straggler.rank.choose(layout.ranks, draw(1, number as u64));
            if rank >= layout.ranks {
                let what = format!("no rank {rank} can be late: the run has {} ranks", layout.ranks);
                return Err(Error::Options(what));
            }
            resolved.stragglers.push((rank, straggler.clone()));
        }
        for (number, link) in faults.slow_links.iter().enumerate() {
            let count = layout.count(link.kind);
            let index = link.index.choose(count, draw(2, number as u64));
            let unused = link.kind != GroupKind::World && (!layout.split || layout.size(link.kind) < 2);
            if index >= count || unused {
                let what = format!("this run has no {} group {index} to slow down", link.kind.name());
                return Err(Error::Options(what));
            }
            resolved.slow_links.push((index, link.clone()));
        }
        let offset = faults.clock_offset_ms.unwrap_or(0.0);
        let drift = faults.drift_ppm.unwrap_or(0.0);
        if !(0.0..=1e9).contains(&offset) || !(0.0..=1000.0).contains(&drift) {
            let what = "a clock can be off by 0 to 1e9 ms and drift by 0 to 1000 ppm";
            return Err(Error::Options(what.into()));
        }
        if offset > 0.0 || drift > 0.0 {
            let sided = |purpose: u64, rank: u32| 2.0 * unit(draw(purpose, u64::from(rank))) - 1.0;
            resolved.clocks =
                (0..layout.ranks).map(|rank| (offset * sided(3, rank), drift * sided(4, rank))).collect();
        }
        if !(0.0..=5.0).contains(&faults.expert_skew) {
            return Err(Error::Options("the spread of experts must be between 0 and 5".into()));
        }
        if faults.expert_skew > 0.0 {
            resolved.loads = loads(faults.expert_skew, layout, |rank| draw(5, u64::from(rank)));
        }
        Ok(resolved)
    }

    /// Clock offset in microseconds and drift in ppm that are added to a rank's own.
    pub(crate) fn clock(&self, rank: u32) -> (f64, f64) {
        let (ms, ppm) = self.clocks.get(rank as usize).copied().unwrap_or((0.0, 0.0));
        (ms * 1000.0, ppm)
    }

    /// How many times longer transfers of a group take.
    pub(crate) fn link_factor(&self, layout: &Layout, kind: GroupKind, rank: u32) -> f64 {
        let slow = |(index, link): &&(u32, SlowLink)| link.kind == kind && layout.index(kind, rank) == *index;
        self.slow_links.iter().filter(slow).map(|(_, link)| link.factor).product()
    }

    /// The clock of a rank's GPU as a share of its normal clock.
    pub(crate) fn clock_share(&self, rank: u32) -> f64 {
        let mine = |s: &&(u32, Straggler)| s.0 == rank && s.1.cause == Cause::LowerClocks;
        self.stragglers.iter().filter(mine).map(|(_, s)| 1.0 / s.factor).product()
    }

    /// How many times more workgroups a rank's kernels have.
    pub(crate) fn grid_factor(&self, rank: u32) -> f64 {
        let mine = |s: &&(u32, Straggler)| s.0 == rank && s.1.cause == Cause::LargerKernels;
        self.stragglers.iter().filter(mine).map(|(_, s)| s.factor).product()
    }

    /// How many faults the run itself has; clocks do not count.
    pub(crate) fn count(&self) -> usize {
        self.stragglers.len() + self.slow_links.len() + usize::from(!self.loads.is_empty())
    }

    pub(crate) fn any(&self) -> bool {
        self.count() > 0
    }

    /// Ranks that are late on their own.
    pub(crate) fn guilty(&self) -> Vec<u32> {
        self.stragglers.iter().map(|(rank, _)| *rank).collect()
    }

    /// Only the clock faults.
    pub(crate) fn without_all(&self) -> Self {
        Self { clocks: self.clocks.clone(), ..Self::default() }
    }

    /// All but one: stragglers count first, then links, then experts.
    pub(crate) fn without(&self, number: usize) -> Self {
        let mut rest = self.clone();
        let links = self.stragglers.len();
        if number < links {
            rest.stragglers.remove(number);
        } else if number < links + self.slow_links.len() {
            rest.slow_links.remove(number - links);
        } else {
            rest.loads.clear();
        }
        rest
    }

    pub(crate) fn lowers_clocks(&self) -> bool {
        self.stragglers.iter().any(|(_, s)| s.cause == Cause::LowerClocks)
    }

    pub(crate) fn load(&self, rank: u32) -> f64 {
        self.loads.get(rank as usize).copied().unwrap_or(1.0)
    }
}

/// Lognormal loads with mean 1 within each expert group.
fn loads(skew: f64, layout: &Layout, bits: impl Fn(u32) -> u64) -> Vec<f64> {
    let sigma = (skew * skew).ln_1p().sqrt();
    let mut loads = vec![1.0; layout.ranks as usize];
    for index in 0..layout.count(GroupKind::Expert) {
        let members = layout.members(GroupKind::Expert, index);
        let drawn: Vec<f64> = members
            .iter()
            .map(|&rank| {
                let bits = bits(rank);
                (sigma * stats::random::normal(unit(bits), unit(mix(bits)))).exp()
            })
            .collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        for (&rank, load) in members.iter().zip(&drawn) {
            loads[rank as usize] = load / mean;
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stragglers_and_links_are_given_by_place_cause_and_factor() {
        let straggler: Straggler = "3:lower-clocks:1.3".parse().unwrap();
        assert_eq!(
            (straggler.rank, straggler.cause, straggler.factor),
            (Where::Number(3), Cause::LowerClocks, 1.3)
        );
        let named: Straggler = "any:slower-kernels:2:gemm".parse().unwrap();
        assert_eq!((named.rank, named.kernel.as_deref()), (Where::Any, Some("gemm")));
        for wrong in ["3", "3:tired:2", "x:more-work:2", "1:more-work:0.5", "1:more-work:2:gemm"] {
            assert!(wrong.parse::<Straggler>().is_err(), "{wrong}");
        }
        let link: SlowLink = "data:1:2.5".parse().unwrap();
        assert_eq!((link.kind, link.index, link.factor), (GroupKind::Data, Where::Number(1), 2.5));
        assert!("data:2.5".parse::<SlowLink>().is_err() && "ring:0:2".parse::<SlowLink>().is_err());
        for (place, (_, cause, _)) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, place);
        }
    }

    #[test]
    fn clocks_are_off_by_at_most_what_was_asked_for() {
        let layout = Layout::new(64, [1, 1, 1], false).unwrap();
        let faults = Faults { clock_offset_ms: Some(5.0), drift_ppm: Some(20.0), ..Faults::default() };
        let resolved = Resolved::of(&faults, &layout, 7).unwrap();
        let clocks: Vec<(f64, f64)> = (0..64).map(|rank| resolved.clock(rank)).collect();
        assert!(clocks.iter().all(|(us, ppm)| us.abs() <= 5000.0 && ppm.abs() <= 20.0));
        assert!(clocks.iter().any(|(us, _)| *us < -2500.0) && clocks.iter().any(|(us, _)| *us > 2500.0));
    }
}
