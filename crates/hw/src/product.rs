//! Products: how many of an architecture's compute units a GPU has, and its memory, caches and links.

use crate::rates::DataType;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One product; a card whose two dies appear as two GPUs is listed as one die.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// The short name: `MI300X`.
    pub name: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The architecture, if the table has several.
    #[serde(default)]
    pub arch: String,
    /// PCI device ids.
    #[serde(default)]
    pub chips: Vec<u32>,
    /// Compute units of the whole GPU.
    pub cus: u32,
    /// Peak engine clock.
    pub clock_mhz: f64,
    /// Memory in GB (10⁹ bytes as the vendor counts it).
    pub memory_gb: f64,
    /// Peak memory bandwidth in GB/s (10⁹ bytes).
    pub memory_gbps: f64,
    /// Memory channels, if they are not the channels of the second-level cache.
    pub memory_channels: Option<u32>,
    /// Second-level cache per XCC.
    pub l2_kb_per_xcc: u32,
    /// Channels of the second-level cache per XCC, if known.
    pub l2_channels_per_xcc: Option<u32>,
    /// Infinity Cache in MB.
    pub mall_mb: Option<u32>,
    /// Infinity Cache bandwidth in GB/s, if known.
    pub mall_gbps: Option<f64>,
    /// Links to other GPUs of the node (xGMI), if every pair in a full node has one or the count is known.
    pub links: Option<u32>,
    /// Peak of one link in one direction, in GB/s (10⁹ bytes).
    pub link_gbps: Option<f64>,
    /// XCCs of a logical device in each compute partition mode; empty for a single die.
    #[serde(default)]
    pub xccs: BTreeMap<String, u32>,
    /// What the vendor's libraries reach, in TFLOP/s: a more realistic ceiling than the data sheet's.
    #[serde(default)]
    pub achievable_tflops: BTreeMap<DataType, f64>,
    /// Facts that were not verified, in words.
    #[serde(default)]
    pub unverified: Vec<String>,
}

impl Product {
    /// The highest rate at which one of `gpus` connected GPUs of a node can send, in GB/s.
    pub fn peer_gbps(&self, gpus: u32) -> Option<f64> {
        let links = self.links?.min(gpus.saturating_sub(1));
        Some(f64::from(links) * self.link_gbps?).filter(|gbps| *gbps > 0.0)
    }

    /// XCCs of the whole GPU.
    pub fn total_xccs(&self) -> u32 {
        self.xccs.get("SPX").copied().unwrap_or(1)
    }

    /// Whether a normalised device name contains this product's name.
    pub(crate) fn is_named_in(&self, normalised_name: &str) -> bool {
        let names = std::iter::once(&self.name).chain(&self.aliases);
        names.into_iter().any(|name| {
            let name = normalised(name);
            let ends = |c: char| !c.is_ascii_alphanumeric();
            contains_up_to(normalised_name, &name, ends)
        })
    }

    /// Whether a normalised device name contains this product's number, whatever letters follow it: `MI300X` and
    /// `MI300A` are siblings.
    pub(crate) fn has_sibling_in(&self, normalised_name: &str) -> bool {
        let name = normalised(&self.name);
        let number = name.trim_end_matches(|c: char| !c.is_ascii_digit());
        contains_up_to(normalised_name, number, |c| !c.is_ascii_digit())
    }
}

/// Whether a text contains a part, at its end or before a character that `ends` it.
fn contains_up_to(text: &str, part: &str, ends: impl Fn(char) -> bool) -> bool {
    text.match_indices(part).any(|(at, _)| text[at + part.len()..].chars().next().is_none_or(&ends))
}

/// A device name in lower case with single spaces, whatever separated its words.
pub(crate) fn normalised(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_ascii_lowercase()
}
