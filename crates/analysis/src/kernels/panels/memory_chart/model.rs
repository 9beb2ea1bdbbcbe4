//! Parts and wires of the chart; each number is named by its metric.

use super::super::values::TableValues;

/// A number in a part or on a wire: its label, its metric and its unit.
pub(super) type Figure = (&'static str, &'static str, &'static str);

/// A part of the GPU.
pub(super) struct ChartBlock {
    pub title: &'static str,
    pub figures: &'static [Figure],
}

/// The traffic from one part to another.
pub(super) struct Wire {
    pub figures: &'static [Figure],
}

pub(super) const BUFFER: ChartBlock = ChartBlock {
    title: "Instr Buffer",
    figures: &[("occupancy", "Wavefront Occupancy", "waves"), ("life", "Wave Life", "cycles")],
};

pub(super) const DISPATCH: ChartBlock = ChartBlock {
    title: "Instr Dispatch",
    figures: &[
        ("SALU", "SALU", ""),
        ("SMEM", "SMEM", ""),
        ("VALU", "VALU", ""),
        ("MFMA", "MFMA", ""),
        ("VMEM", "VMEM", ""),
        ("LDS", "LDS", ""),
        ("GWS", "GWS", ""),
        ("BR", "BR", ""),
    ],
};

pub(super) const EXEC: ChartBlock = ChartBlock {
    title: "Exec",
    figures: &[
        ("CUs", "Active CUs", ""),
        ("of", "Num CUs", ""),
        ("VGPRs", "VGPR", ""),
        ("SGPRs", "SGPR", ""),
        ("LDS", "LDS Allocation", "B"),
        ("scratch", "Scratch Allocation", "B"),
        ("waves", "Wavefronts", ""),
        ("groups", "Workgroups", ""),
    ],
};

pub(super) const LDS: ChartBlock =
    ChartBlock { title: "LDS", figures: &[("util", "LDS Util", "%"), ("latency", "LDS Latency", "cycles")] };
pub(super) const VECTOR: ChartBlock = ChartBlock {
    title: "Vector L1",
    figures: &[
        ("hit", "VL1 Hit", "%"),
        ("latency", "VL1 Lat", "cycles"),
        ("coalesced", "VL1 Coalesce", "%"),
        ("stalled", "VL1 Stall", "%"),
    ],
};
pub(super) const SCALAR: ChartBlock = ChartBlock {
    title: "Scalar L1D",
    figures: &[("hit", "sL1D Hit", "%"), ("latency", "sL1D Lat", "cycles")],
};
pub(super) const INSTRUCTION: ChartBlock =
    ChartBlock { title: "Instr L1", figures: &[("hit", "IL1 Hit", "%"), ("latency", "IL1 Lat", "cycles")] };
pub(super) const L2: ChartBlock = ChartBlock {
    title: "L2",
    figures: &[
        ("hit", "L2 Hit", "%"),
        ("rd", "L2 Rd", ""),
        ("wr", "L2 Wr", ""),
        ("atomic", "L2 Atomic", ""),
        ("rd lat", "L2 Rd Lat", "cycles"),
        ("wr lat", "L2 Wr Lat", "cycles"),
    ],
};
pub(super) const FABRIC: ChartBlock = ChartBlock {
    title: "Fabric",
    figures: &[
        ("rd lat", "Fabric Rd Lat", "cycles"),
        ("wr lat", "Fabric Wr Lat", "cycles"),
        ("atomic", "Fabric Atomic Lat", "cycles"),
    ],
};
pub(super) const HBM: ChartBlock = ChartBlock { title: "HBM", figures: &[] };

pub(super) const EXEC_LDS: Wire = Wire { figures: &[("req", "LDS Req", "")] };
pub(super) const EXEC_VECTOR: Wire =
    Wire { figures: &[("rd", "VL1 Rd", ""), ("wr", "VL1 Wr", ""), ("atomic", "VL1 Atomic", "")] };
pub(super) const EXEC_SCALAR: Wire = Wire { figures: &[("rd", "sL1D Rd", "")] };
pub(super) const INSTRUCTION_BUFFER: Wire = Wire { figures: &[("fetch", "IL1 Fetch", "")] };
pub(super) const VECTOR_L2: Wire =
    Wire { figures: &[("rd", "VL1_L2 Rd", ""), ("wr", "VL1_L2 Wr", ""), ("atomic", "VL1_L2 Atomic", "")] };
pub(super) const SCALAR_L2: Wire =
    Wire { figures: &[("rd", "sL1D_L2 Rd", ""), ("wr", "sL1D_L2 Wr", ""), ("atomic", "sL1D_L2 Atomic", "")] };
pub(super) const INSTRUCTION_L2: Wire = Wire { figures: &[("rd", "IL1_L2 Rd", "")] };
pub(super) const L2_FABRIC: Wire = Wire {
    figures: &[("rd", "Fabric_L2 Rd", ""), ("wr", "Fabric_L2 Wr", ""), ("atomic", "Fabric_L2 Atomic", "")],
};
pub(super) const FABRIC_HBM: Wire = Wire { figures: &[("rd", "HBM Rd", ""), ("wr", "HBM Wr", "")] };

/// The chart's numbers.
pub(super) struct Figures<'v>(pub &'v TableValues);

impl Figures<'_> {
    /// A number as text; `N/A` if there is none.
    pub fn show(&self, metric: &str) -> String {
        self.number(metric).map_or_else(|| "N/A".to_string(), short)
    }

    /// A number with its unit.
    pub fn with_unit(&self, metric: &str, unit: &str) -> String {
        match (self.number(metric), unit) {
            (None, _) => "N/A".into(),
            (Some(value), "") => short(value),
            (Some(value), unit) => format!("{} {unit}", short(value)),
        }
    }

    /// Why a number is missing.
    pub fn why(&self, metric: &str) -> Option<&str> {
        let row = self.0.rows.iter().find(|row| row.metric == metric)?;
        row.cells.first()?.as_ref().err().map(String::as_str)
    }

    fn number(&self, metric: &str) -> Option<f64> {
        let row = self.0.rows.iter().find(|row| row.metric == metric)?;
        row.cells.first()?.as_ref().ok().copied().filter(|value| value.is_finite())
    }
}

/// A number in at most seven characters.
fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size >= 999_950_000.0 => format!("{:.2}G", value / 1e9),
        _ if size >= 999_950.0 => format!("{:.2}M", value / 1e6),
        _ if size >= 10_000.0 => format!("{:.1}k", value / 1e3),
        _ if value.fract() == 0.0 || size >= 100.0 => format!("{value:.0}"),
        _ if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::catalogue::Catalogue;
    use super::*;

    #[test]
    fn every_metric_of_the_panel_is_drawn_once_and_none_is_invented() {
        let parts = [BUFFER, DISPATCH, EXEC, LDS, VECTOR, SCALAR, INSTRUCTION, L2, FABRIC, HBM];
        let wires = [
            EXEC_LDS,
            EXEC_VECTOR,
            EXEC_SCALAR,
            INSTRUCTION_BUFFER,
            VECTOR_L2,
            SCALAR_L2,
            INSTRUCTION_L2,
            L2_FABRIC,
            FABRIC_HBM,
        ];
        let of_parts = parts.iter().flat_map(|part| part.figures);
        let mut drawn: Vec<&str> =
            of_parts.chain(wires.iter().flat_map(|wire| wire.figures)).map(|figure| figure.1).collect();
        let panel = Catalogue::builtin().panels.iter().find(|panel| panel.number == 3).unwrap();
        let mut metrics: Vec<&str> = panel.tables[0].metrics.iter().map(|m| m.name.as_str()).collect();
        drawn.sort_unstable();
        metrics.sort_unstable();
        assert_eq!(drawn, metrics);
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (0.25, "0.25"),
            (0.0001, "1.0e-4"),
            (33.333, "33.33"),
            (131072.0, "131.1k"),
            (9999.0, "9999"),
            (1e6, "1.00M"),
            (2.5e9, "2.50G"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }
}
