//! The GPU architectures: resources of a compute unit, from the tables in `data/arch`.

use crate::product::Product;
use crate::rates::{ByteRates, FlopRates};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The tables, one per set of architectures with the same facts.
const TABLES: [&str; 13] = [
    include_str!("../data/arch/gfx906.toml"),
    include_str!("../data/arch/gfx908.toml"),
    include_str!("../data/arch/gfx90a.toml"),
    include_str!("../data/arch/gfx942.toml"),
    include_str!("../data/arch/gfx950.toml"),
    include_str!("../data/arch/gfx1010.toml"),
    include_str!("../data/arch/gfx1030.toml"),
    include_str!("../data/arch/gfx1100.toml"),
    include_str!("../data/arch/gfx1102.toml"),
    include_str!("../data/arch/gfx1150.toml"),
    include_str!("../data/arch/gfx1151.toml"),
    include_str!("../data/arch/gfx1200.toml"),
    include_str!("../data/arch/gfx1250.toml"),
];

/// Targets that cover several architectures.
const GENERIC: &str = include_str!("../data/arch/generic.toml");

/// One architecture, such as gfx942.
#[derive(Clone, Debug, PartialEq)]
pub struct Arch {
    /// The name without features: `gfx942`.
    pub name: String,
    /// The processor number in the header of a code object.
    pub elf_machine: u32,
    /// Everything else, shared by architectures that differ only in name.
    pub facts: Facts,
    /// Products with this chip.
    pub products: Vec<Product>,
}

/// What architectures of one kind have in common.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The vendor's name of the generation: `CDNA3`, `RDNA3`.
    pub family: String,
    /// The counter catalogue to use; empty if there is none.
    pub counters: String,
    /// Lanes per wave; the first is the usual one.
    pub wave_sizes: Vec<u32>,
    /// SIMD units in a compute unit.
    pub simds_per_cu: u32,
    /// Waves that a SIMD can hold.
    pub max_waves_per_simd: u32,
    /// Threads that a workgroup can have.
    pub max_workgroup: u32,
    /// Workgroups of more than one wave that a compute unit has barriers for.
    pub barrier_workgroups_per_cu: u32,
    /// Compute units that can share one workgroup (2 on RDNA: a workgroup processor).
    #[serde(default = "one_unit")]
    pub cus_per_wgp: u32,
    /// Facts that were not verified, in words.
    #[serde(default)]
    pub unverified: Vec<String>,
    /// The vector registers.
    pub vgpr: Vgpr,
    /// The scalar registers.
    pub sgpr: Sgpr,
    /// The local data share.
    pub lds: Lds,
    /// Bytes per clock of the caches and the LDS.
    pub bytes_per_clock: ByteRates,
    /// Operations per clock and compute unit.
    pub flops_per_clock: FlopRates,
}

/// How the vector register file is laid out.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RegisterFile {
    /// Vector and accumulation registers share one file.
    Unified,
    /// Vector and accumulation registers have a file each.
    Separate,
    /// There are no accumulation registers.
    Vector,
}

/// The vector registers of a SIMD.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Vgpr {
    /// The layout of the file.
    pub file: RegisterFile,
    /// Vector registers that one lane can have.
    pub max_vector: u32,
    /// Accumulation registers that one lane can have.
    pub max_accumulation: u32,
    /// The file as waves of 32 lanes see it.
    pub wave32: Option<VgprFile>,
    /// The file as waves of 64 lanes see it.
    pub wave64: Option<VgprFile>,
}

/// Size and unit of allocation of a register file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct VgprFile {
    /// Registers per lane that a SIMD's waves share.
    pub per_simd: u32,
    /// Registers are allocated in multiples of this.
    pub granule: u32,
}

/// The scalar registers: how many waves fit for a register count.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Sgpr {
    /// (up to this many registers, this many waves per SIMD), ascending; empty if they limit nothing.
    pub waves: Vec<(u32, u32)>,
}

/// The local data share.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Lds {
    /// Bytes per compute unit.
    pub bytes: u32,
    /// Bytes are allocated in multiples of this.
    pub granule: u32,
    /// Bytes that one workgroup can have.
    pub max_per_workgroup: u32,
    /// Banks of 4 bytes per compute unit.
    pub banks: u32,
}

fn one_unit() -> u32 {
    1
}

/// A file in `data/arch`.
#[derive(Deserialize)]
struct Table {
    elf_machine: BTreeMap<String, u32>,
    #[serde(default)]
    product: Vec<Product>,
    #[serde(flatten)]
    facts: toml::Table,
}

/// The file of generic targets.
#[derive(Deserialize)]
struct Generics {
    generic: Vec<Generic>,
}

/// A target whose code runs on several architectures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Generic {
    name: String,
    elf_machine: u32,
    /// The member with the fewest registers and the least LDS.
    least: String,
    members: Vec<String>,
}

impl Generic {
    /// The facts that hold on every member: its limits are the lowest, its rates are unknown.
    fn arch(&self, known: &[Arch]) -> Arch {
        let least = known.iter().find(|arch| arch.name == self.least).expect("embedded generic target");
        let unverified = vec![format!(
            "a generic target: waves, registers and LDS are the minimum over {}; rates depend on the actual GPU",
            self.members.join(", ")
        )];
        let facts = Facts {
            bytes_per_clock: ByteRates::default(),
            flops_per_clock: FlopRates::default(),
            counters: String::new(),
            unverified,
            ..least.facts.clone()
        };
        Arch { name: self.name.clone(), elf_machine: self.elf_machine, facts, products: Vec::new() }
    }
}

static ARCHS: LazyLock<Vec<Arch>> = LazyLock::new(|| {
    let mut archs = Vec::new();
    for text in TABLES {
        let table: Table = formats::tables::built_in(text).expect("embedded architecture table");
        let facts: Facts = table.facts.try_into().expect("embedded architecture facts");
        let only = table.elf_machine.len() == 1;
        for (name, &elf_machine) in &table.elf_machine {
            let of_this = |product: &&Product| only || product.arch == *name;
            let products = table.product.iter().filter(of_this).cloned().collect();
            archs.push(Arch { name: name.clone(), elf_machine, facts: facts.clone(), products });
        }
    }
    let generics: Generics = formats::tables::built_in(GENERIC).expect("embedded table of generic targets");
    let generic: Vec<Arch> = generics.generic.iter().map(|target| target.arch(&archs)).collect();
    archs.extend(generic);
    archs
});

/// All known architectures, by generation.
pub fn all() -> &'static [Arch] {
    &ARCHS
}

/// The architecture with a name such as `gfx942`, `gfx942:sramecc+:xnack-` or `amdgcn-amd-amdhsa--gfx942`.
pub fn find(name: &str) -> Option<&'static Arch> {
    let base = base_name(name);
    ARCHS.iter().find(|arch| arch.name.eq_ignore_ascii_case(base))
}

/// The architecture of a product such as `MI300X`, or of a product with the same number, such as `MI300`.
pub fn of_product(name: &str) -> Option<&'static Arch> {
    let wanted = crate::product::normalised(name);
    let sibling = |arch: &&Arch| arch.products.iter().any(|product| product.has_sibling_in(&wanted));
    ARCHS.iter().find(|arch| arch.product(name).is_some()).or_else(|| ARCHS.iter().find(sibling))
}

/// The architecture with this processor number in the flags of an ELF header.
pub fn by_elf_machine(machine: u32) -> Option<&'static Arch> {
    ARCHS.iter().find(|arch| arch.elf_machine == machine)
}

/// The bare name in `gfx942:sramecc+:xnack-` or `amdgcn-amd-amdhsa--gfx942`.
pub fn base_name(name: &str) -> &str {
    let target = name.trim().split(':').next().unwrap_or(name);
    target.rsplit("--").next().unwrap_or(target)
}

impl Arch {
    /// The usual number of lanes in a wave.
    pub fn wave_size(&self) -> u32 {
        self.facts.wave_sizes.first().copied().unwrap_or(64)
    }

    /// The register file as waves of this size see it.
    pub fn vgpr_file(&self, wave_size: u32) -> Option<VgprFile> {
        if wave_size == 32 { self.facts.vgpr.wave32 } else { self.facts.vgpr.wave64 }
    }

    /// Waves that a compute unit can hold.
    pub fn max_waves_per_cu(&self) -> u32 {
        self.facts.simds_per_cu * self.facts.max_waves_per_simd
    }

    /// The product with a name such as `MI300X`, `AMD Instinct MI300X OAM` or `mi355`.
    pub fn product(&self, name: &str) -> Option<&Product> {
        let wanted = crate::product::normalised(name);
        self.products
            .iter()
            .filter(|product| product.is_named_in(&wanted))
            .max_by_key(|product| product.name.len())
    }

    /// True for architectures that count registers like the vendor's matrix chips.
    pub fn is_cdna(&self) -> bool {
        self.facts.family.starts_with("CDNA")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_with_and_without_features() {
        for name in ["gfx942", "gfx942:sramecc+:xnack-", "amdgcn-amd-amdhsa--gfx942:xnack+", " GFX942 "] {
            assert_eq!(find(name).map(|arch| arch.name.as_str()), Some("gfx942"), "{name}");
        }
        assert!(find("gfx9421").is_none());
        assert!(find("").is_none());
        assert!(find("sm_90").is_none());
    }

    #[test]
    fn a_product_has_the_architecture_of_its_siblings_even_if_no_table_lists_it() {
        let names = [
            ("AMD Instinct MI300X VF", "gfx942"),
            ("AMD Instinct MI300", "gfx942"),
            ("MI308", "gfx942"),
            ("AMD Instinct MI250X/MI250", "gfx90a"),
            ("AMD Instinct MI355X", "gfx950"),
            ("AMD Radeon RX 7900 GRE", "gfx1100"),
        ];
        for (name, arch) in names {
            assert_eq!(of_product(name).map(|found| found.name.as_str()), Some(arch), "{name}");
        }
        for name in ["", "AMD Instinct", "MI3000X", "RX 79", "NVIDIA H100 80GB HBM3"] {
            assert!(of_product(name).is_none(), "{name}");
        }
    }

    #[test]
    fn every_table_is_consistent() {
        assert!(all().len() >= 15);
        for arch in all() {
            let facts = &arch.facts;
            for &size in &facts.wave_sizes {
                let file = arch.vgpr_file(size).unwrap_or_else(|| panic!("{} has wave{size}", arch.name));
                assert_eq!(file.per_simd % file.granule, 0, "{}", arch.name);
            }
            assert_eq!(facts.lds.bytes % facts.lds.granule, 0, "{}", arch.name);
            assert!(facts.sgpr.waves.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1), "{}", arch.name);
            assert_eq!(by_elf_machine(arch.elf_machine).map(|found| &found.name), Some(&arch.name));
            for product in &arch.products {
                for (mode, xccs) in &product.xccs {
                    let whole = product.xccs["SPX"];
                    assert!(whole % xccs == 0 && product.cus % whole == 0, "{} {mode}", product.name);
                }
            }
        }
    }

    #[test]
    fn these_architectures_were_unknown() {
        for name in ["gfx906", "gfx940", "gfx941", "gfx1010", "gfx1036", "gfx1250"] {
            assert_eq!(find(name).map(|arch| arch.name.as_str()), Some(name));
        }
        assert_eq!(find("gfx906").unwrap().product("MI60").unwrap().memory_gbps, 1024.0);
        assert!(find("gfx941").unwrap().products.is_empty());
    }

    #[test]
    fn generic_targets_were_refused() {
        let generics = [
            ("gfx9-generic", "gfx906"),
            ("gfx9-4-generic", "gfx942"),
            ("gfx10-1-generic", "gfx1010"),
            ("gfx10-3-generic", "gfx1030"),
            ("gfx11-generic", "gfx1102"),
            ("gfx12-generic", "gfx1201"),
        ];
        for (name, member) in generics {
            let arch = find(&format!("amdgcn-amd-amdhsa--{name}:xnack-")).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(arch.facts.vgpr, find(member).unwrap().facts.vgpr, "{name}");
            assert!(arch.facts.flops_per_clock.vector.is_empty() && arch.products.is_empty(), "{name}");
        }
        // No value of a generic target may exceed that of a member.
        let table: Generics = toml::from_str(GENERIC).unwrap();
        for generic in &table.generic {
            let target = find(&generic.name).unwrap();
            for member in generic.members.iter().filter_map(|member| find(member)) {
                assert!(target.facts.lds.bytes <= member.facts.lds.bytes, "{}", member.name);
                for &size in &target.facts.wave_sizes {
                    let (most, own) = (target.vgpr_file(size).unwrap(), member.vgpr_file(size).unwrap());
                    assert!(most.per_simd <= own.per_simd, "{}", member.name);
                }
            }
        }
    }

    #[test]
    fn a_product_is_found_by_the_names_that_tools_print() {
        let arch = find("gfx942").unwrap();
        for name in ["MI300X", "AMD Instinct MI300X OAM", "AMD_Instinct_MI300X", "mi300x"] {
            assert_eq!(arch.product(name).map(|product| product.name.as_str()), Some("MI300X"), "{name}");
        }
        assert_eq!(find("gfx950").unwrap().product("AMD Instinct MI355").unwrap().name, "MI355X");
        assert_eq!(find("gfx90a").unwrap().product("MI250X").unwrap().cus, 110);
        assert!(arch.product("MI210").is_none());
    }
}
