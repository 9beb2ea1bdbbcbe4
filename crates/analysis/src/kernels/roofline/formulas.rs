//! The table `rules/roofline.toml`: operations by data type and bytes by level, as formulas over counters.

use std::sync::LazyLock;

use hw::{DataType, Level, Pipe};
use serde::Deserialize;

use super::place::Work;
use crate::kernels::bottleneck::Figures;
use crate::kernels::panels::expression::{Expression, parse};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlopsText {
    data_type: DataType,
    pipe: String,
    archs: Vec<String>,
    formula: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BytesText {
    level: String,
    archs: Vec<String>,
    formulas: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    settled: Vec<Settled>,
    flops: Vec<FlopsText>,
    bytes: Vec<BytesText>,
}

/// Counters that are zero whenever another one is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settled {
    when_zero: String,
    zero: Vec<String>,
}

/// One quantity with its formulas.
struct Formulas<T> {
    what: T,
    archs: Vec<String>,
    formulas: Vec<Expression>,
}

struct Rules {
    settled: Vec<Settled>,
    flops: Vec<Formulas<(DataType, Pipe)>>,
    bytes: Vec<Formulas<Level>>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    read(include_str!("../../../rules/roofline.toml")).expect("the table is checked by a test")
});

fn read(text: &str) -> Result<Rules, String> {
    let text: Text = formats::tables::built_in(text).map_err(|error| error.to_string())?;
    let formula = |text: &String| parse(text).map_err(|error| format!("`{text}`: {error}"));
    let mut rules = Rules { settled: text.settled, flops: Vec::new(), bytes: Vec::new() };
    for entry in &text.flops {
        let pipe = match entry.pipe.as_str() {
            "vector" => Pipe::Vector,
            "matrix" => Pipe::Matrix,
            other => return Err(format!("`{other}` is not a pipe")),
        };
        let formulas = vec![formula(&entry.formula)?];
        rules.flops.push(Formulas { what: (entry.data_type, pipe), archs: entry.archs.clone(), formulas });
    }
    for entry in &text.bytes {
        let level = Level::ALL.into_iter().find(|level| level.name() == entry.level);
        let what = level.ok_or_else(|| format!("`{}` is not a level", entry.level))?;
        let formulas = entry.formulas.iter().map(formula).collect::<Result<_, _>>()?;
        rules.bytes.push(Formulas { what, archs: entry.archs.clone(), formulas });
    }
    Ok(rules)
}

/// The work of a kernel on an architecture, and what its counters do not cover.
pub(super) fn work(arch: &str, figures: &Figures) -> Work {
    let mut work = Work::default();
    let figures = &with_settled(figures);
    for entry in RULES.flops.iter().filter(|entry| entry.archs.iter().any(|name| name == arch)) {
        match first_known(&entry.formulas, figures) {
            Ok(flops) => drop(work.flops.insert(entry.what, flops)),
            Err(missing) => drop(work.missing_flops.insert(entry.what, missing)),
        }
    }
    for entry in RULES.bytes.iter().filter(|entry| entry.archs.iter().any(|name| name == arch)) {
        match first_known(&entry.formulas, figures) {
            Ok(bytes) => drop(work.bytes.insert(entry.what, bytes)),
            Err(missing) => drop(work.missing_bytes.insert(entry.what, missing)),
        }
    }
    work
}

/// Adds the zeros that other counters imply: without matrix instructions there are no matrix operations.
fn with_settled(figures: &Figures) -> Figures {
    let mut settled = figures.clone();
    for rule in RULES.settled.iter().filter(|rule| figures.get(&rule.when_zero) == Some(&0.0)) {
        for name in &rule.zero {
            settled.entry(name.clone()).or_insert(0.0);
        }
    }
    settled
}

/// The value of the first formula whose counters were all collected, or what the first formula lacks.
fn first_known(formulas: &[Expression], figures: &Figures) -> Result<f64, Vec<String>> {
    let mut lacking = None;
    for formula in formulas {
        match value(formula, figures) {
            Ok(value) => return Ok(value),
            Err(missing) => drop(lacking.get_or_insert(missing)),
        }
    }
    Err(lacking.unwrap_or_default())
}

fn value(expression: &Expression, known: &Figures) -> Result<f64, Vec<String>> {
    match expression {
        Expression::Number(number) => Ok(*number),
        Expression::Name(name) => known.get(name).copied().ok_or_else(|| vec![name.clone()]),
        Expression::Negative(a) => value(a, known).map(|a| -a),
        Expression::Binary(operator, a, b) => match (value(a, known), value(b, known)) {
            (Ok(a), Ok(b)) => Ok(operator.apply(a, b)),
            (Err(mut a), Err(b)) => {
                a.extend(b.into_iter().filter(|name| !a.contains(name)).collect::<Vec<_>>());
                Err(a)
            }
            (Err(missing), _) | (_, Err(missing)) => Err(missing),
        },
        _ => Err(Vec::new()),
    }
}

/// The counters to collect for a roofline on an architecture, by name.
pub fn roofline_counters(arch: &str) -> Vec<String> {
    let here = |archs: &[String]| archs.iter().any(|name| name == arch);
    let flops = RULES.flops.iter().filter(|entry| here(&entry.archs)).map(|entry| &entry.formulas);
    let bytes = RULES.bytes.iter().filter(|entry| here(&entry.archs)).map(|entry| &entry.formulas);
    let nothing = Figures::new();
    let needed = flops.chain(bytes).filter_map(|formulas| first_known(formulas, &nothing).err());
    let mut names: Vec<String> = needed.flatten().collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_of_the_formulas_exists_where_it_is_used() {
        for arch in ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"] {
            let names = roofline_counters(arch);
            assert!(!names.is_empty());
            for name in &names {
                assert!(hw::counters::find(arch, name).is_some(), "{arch} has no {name}");
            }
        }
        for entry in &RULES.flops {
            for name in &entry.archs {
                let arch = hw::arch::find(name).unwrap();
                let rates = &arch.facts.flops_per_clock;
                let table = if entry.what.1 == Pipe::Vector { &rates.vector } else { &rates.matrix };
                assert!(table.contains_key(&entry.what.0), "{name} has no peak for {:?}", entry.what);
            }
        }
    }

    #[test]
    fn one_missing_matrix_counter_voided_flops_though_no_matrix_instruction_ran() {
        let matrix = (DataType::Fp8, Pipe::Matrix);
        let with =
            |instructions: f64| work("gfx942", &Figures::from([("SQ_INSTS_MFMA".into(), instructions)]));
        assert_eq!(with(0.0).flops.get(&matrix), Some(&0.0));
        assert!(!with(0.0).missing_flops.contains_key(&matrix));
        assert!(with(7.0).missing_flops.contains_key(&matrix), "some ran: how many is not known");
        let mut figures = Figures::from([("SQ_INSTS_VALU_MFMA_MOPS_BF16".into(), 2.0)]);
        assert_eq!(work("gfx942", &figures).flops_at_least(), Some(1024.0));
        figures.clear();
        assert_eq!(work("gfx942", &figures).flops_at_least(), None);
    }

    #[test]
    fn a_missing_counter_is_named_and_other_formulas_are_tried() {
        let mut figures = Figures::from([("FETCH_SIZE".into(), 10.0), ("WRITE_SIZE".into(), 6.0)]);
        let known = work("gfx90a", &figures);
        assert_eq!(known.bytes.get(&Level::Hbm), Some(&16384.0));
        figures.remove("WRITE_SIZE");
        let unknown = work("gfx90a", &figures);
        let missing = &unknown.missing_bytes[&Level::Hbm];
        assert_eq!(missing[0], "TCC_EA_RDREQ_32B_sum");
        assert_eq!(missing.len(), 4);
    }
}
