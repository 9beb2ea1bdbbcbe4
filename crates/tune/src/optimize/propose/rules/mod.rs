//! The rule library: changes that preserve what a kernel computes, one by one. A rule that cannot prove on
//! the syntax tree that it is safe makes no proposal.

mod fast_math;
pub mod flags;
mod hints;
mod nontemporal;
mod padding;
mod unroll;
mod vectorise;

use super::{Evidence, Proposal};
use crate::optimize::guard::Header;
use crate::optimize::source::{Kernel, Source};

/// A rule of the library.
pub struct Rule {
    /// Its name for `--rule`.
    pub name: &'static str,
    /// What it does.
    pub does: &'static str,
    /// When it is offered.
    pub offered: &'static str,
    /// What the user must have allowed.
    pub needs: Permission,
    make: fn(&Site) -> Vec<Proposal>,
}

/// What a rule may do only with the user's permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Nothing special.
    None,
    /// Other compiler options (`--flags`).
    Flags,
    /// Results that differ in the last digits (`--allow-fast-math`).
    FastMath,
}

/// The rules, in the order they are tried.
pub const RULES: &[Rule] = &[
    Rule {
        name: "unroll",
        does: "unrolls a loop by 2, 4 or 8, through the compiler",
        offered: "for every `for` loop, innermost first, unless it already has an unroll pragma",
        needs: Permission::None,
        make: unroll::unroll,
    },
    Rule {
        name: "vectorised_loads",
        does: "reads 16 bytes at once where a loop reads one element at a time, if they are aligned at run time",
        offered: "for counted innermost loops without jumps whose stores cannot reach what is read",
        needs: Permission::None,
        make: vectorise::vectorised_loads,
    },
    Rule {
        name: "lds_padding",
        does: "pads the rows of an LDS tile by one element, to avoid bank conflicts",
        offered: "for two-dimensional `__shared__` arrays with a row length that is a multiple of 32, only accessed by index",
        needs: Permission::None,
        make: padding::lds_padding,
    },
    Rule {
        name: "launch_bounds",
        does: "tells the compiler the workgroup size that the profile shows",
        offered: "if all dispatches have the same size and the source gives none",
        needs: Permission::None,
        make: hints::launch_bounds,
    },
    Rule {
        name: "restrict",
        does: "tells the compiler that pointer arguments do not alias",
        offered: "for kernels with two or more pointers; your checks must verify it",
        needs: Permission::None,
        make: hints::restrict,
    },
    Rule {
        name: "nontemporal_load",
        does: "uses non-temporal loads for inputs that are read once",
        offered: "for constant pointers to plain numbers that are read in one place, outside of loops",
        needs: Permission::None,
        make: nontemporal::load,
    },
    Rule {
        name: "nontemporal_store",
        does: "uses non-temporal stores for results that are not read again soon",
        offered: "for assignments through pointers to plain numbers that the kernel does not read",
        needs: Permission::None,
        make: nontemporal::store,
    },
    Rule {
        name: "waves_per_eu",
        does: "limits registers so that more waves fit",
        offered: "for kernels without that attribute",
        needs: Permission::None,
        make: hints::waves_per_eu,
    },
    Rule {
        name: "fast_math",
        does: "calls the GPU's fast approximations of functions such as `expf`",
        offered: "if fast math is allowed, for calls to functions that have one",
        needs: Permission::FastMath,
        make: fast_math::fast_math,
    },
    Rule {
        name: "compile_flags",
        does: "adds a compiler option; the source does not change",
        offered: "if compiler options may change, for those that the build does not use yet; some also need fast math to be allowed",
        needs: Permission::Flags,
        make: flags::compile_flags,
    },
];

/// Which rules may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Their names; empty: all.
    pub names: Vec<String>,
    /// Whether compiler options may be changed.
    pub flags: bool,
    /// Whether results may differ in the last digits.
    pub fast_math: bool,
}

impl Choice {
    /// Whether the user gave this permission.
    pub fn allows(&self, permission: Permission) -> bool {
        match permission {
            Permission::None => true,
            Permission::Flags => self.flags,
            Permission::FastMath => self.fast_math,
        }
    }
}

/// Where rules apply.
pub struct Site<'a> {
    /// The current source.
    pub source: &'a Source,
    /// The kernel in it.
    pub kernel: &'a Kernel,
    /// Evidence from the profile.
    pub evidence: &'a Evidence,
    /// What is allowed.
    pub choice: &'a Choice,
    /// Words of the build command, including accepted options.
    pub build: &'a [String],
    /// Accepted compiler options.
    pub flags: &'a [String],
}

/// Proposals of the chosen rules for a kernel: the first of each rule, then the second of each, and so on, so that no
/// rule uses up the budget of the others.
pub fn proposals(site: &Site) -> Vec<Proposal> {
    let wanted = |rule: &&Rule| {
        let named = site.choice.names.is_empty() || site.choice.names.iter().any(|name| name == rule.name);
        named && site.choice.allows(rule.needs)
    };
    let mut queues: Vec<_> = RULES.iter().filter(wanted).map(|rule| (rule.make)(site).into_iter()).collect();
    let mut proposals = Vec::new();
    loop {
        let round: Vec<Proposal> = queues.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return proposals;
        }
        proposals.extend(round);
    }
}

impl Site<'_> {
    /// A proposal of a rule; `key` identifies it among the rule's others, even if lines move.
    fn proposal(&self, rule: &str, key: &str, description: String, text: String, header: Header) -> Proposal {
        Proposal {
            origin: format!("rule {rule}"),
            key: format!("{rule} {key}"),
            description,
            text,
            header,
            flags: self.flags.to_vec(),
        }
    }
}

/// Types of plain numbers: accepted by built-in functions, and elements of vectors.
const NUMBERS: &[&str] = &[
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "float",
    "double",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "size_t",
];

#[cfg(test)]
mod tests;
