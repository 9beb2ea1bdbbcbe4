//! The table `rules/ops.toml`: what ops of torch traces compute and move, by name and shapes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hw::DataType;
use serde::Deserialize;
use trace::Map;

use super::convolution::Convolution;
use super::recorded::Element;
use crate::kernels::panels::expression::{Expression, parse};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpText {
    names: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    inputs: BTreeMap<String, String>,
    #[serde(default)]
    values: BTreeMap<String, usize>,
    #[serde(rename = "type")]
    data_type: Option<DataType>,
    flops: Option<String>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    convolution: Option<Convolution>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    op: Vec<OpText>,
}

/// One dimension of an input.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Dimension {
    /// `_`
    Any,
    /// `k`
    Named(String),
    /// `rows..`: the product of all dimensions here.
    Several(String),
}

/// Something that is read or written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AccessedData {
    /// The tensor at a position.
    Input(usize),
    /// Every tensor.
    Tensors,
    /// A tensor of the shape that all tensors broadcast to.
    Broadcast,
    /// What remains of the first tensor after the reduction.
    Reduced,
    /// This many elements.
    Elements(Expression),
}

/// The element type of an access.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TypeOf {
    /// The tensor's own type, or the type that its tensors are promoted to.
    Own,
    /// The type of the input at a position.
    Input(usize),
    /// A fixed type.
    Element(Element),
    /// The type number recorded at a position, otherwise the type of the first tensor.
    Value(usize),
}

/// One memory access of an op.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moved {
    pub what: AccessedData,
    pub of: TypeOf,
}

/// The work of one op.
#[derive(Debug)]
pub(super) struct OpRule {
    pub inputs: Vec<(usize, Vec<Dimension>)>,
    pub values: Vec<(String, usize)>,
    pub data_type: Option<DataType>,
    pub flops: Option<Expression>,
    pub reads: Vec<Moved>,
    pub writes: Vec<Moved>,
    pub convolution: Option<Convolution>,
    unless: Vec<String>,
}

/// The whole table.
#[derive(Debug, Default)]
pub(super) struct OpRules {
    rules: Vec<OpRule>,
    by_name: Map<String, Vec<usize>>,
    patterns: Vec<(String, usize)>,
}

static RULES: LazyLock<OpRules> = LazyLock::new(|| {
    OpRules::read(include_str!("../../../rules/ops.toml")).expect("the table is checked by a test")
});

impl OpRules {
    pub fn built_in() -> &'static Self {
        &RULES
    }

    /// The models of an op, in table order.
    pub fn of(&self, name: &str) -> Vec<&OpRule> {
        let exact = self.by_name.get(name).map_or(&[][..], Vec::as_slice).iter().copied();
        let fitting = self.patterns.iter().filter(|(pattern, _)| fits(pattern, name)).map(|(_, at)| *at);
        let allowed = |rule: &&OpRule| !rule.unless.iter().any(|word| name.contains(word.as_str()));
        exact.chain(fitting).map(|at| &self.rules[at]).filter(allowed).collect()
    }

    fn read(text: &str) -> Result<Self, String> {
        let text: Text = formats::tables::built_in(text).map_err(|error| error.to_string())?;
        let mut all = Self::default();
        for op in text.op {
            let at = all.rules.len();
            for name in &op.names {
                if name.contains('*') {
                    all.patterns.push((name.clone(), at));
                } else {
                    all.by_name.entry(name.clone()).or_default().push(at);
                }
            }
            all.rules.push(rule(op)?);
        }
        Ok(all)
    }
}

fn rule(op: OpText) -> Result<OpRule, String> {
    let mut inputs = Vec::new();
    for (position, text) in &op.inputs {
        let position = position.parse().map_err(|_| format!("`{position}` is not a position"))?;
        inputs.push((position, text.split(' ').map(dimension).collect()));
    }
    inputs.sort_by_key(|&(position, _)| position);
    let flops = op.flops.as_deref().map(formula).transpose()?;
    Ok(OpRule {
        inputs,
        values: op.values.into_iter().collect(),
        data_type: op.data_type,
        flops,
        reads: op.reads.iter().map(|text| moved(text)).collect::<Result<_, _>>()?,
        writes: op.writes.iter().map(|text| moved(text)).collect::<Result<_, _>>()?,
        convolution: op.convolution,
        unless: op.unless,
    })
}

fn formula(text: &str) -> Result<Expression, String> {
    parse(text).map_err(|error| error.to_string())
}

fn dimension(text: &str) -> Dimension {
    match text.strip_suffix("..") {
        Some(name) => Dimension::Several(name.to_owned()),
        None if text == "_" => Dimension::Any,
        None => Dimension::Named(text.to_owned()),
    }
}

fn moved(text: &str) -> Result<Moved, String> {
    let (what, of) = match text.rsplit_once(" as ") {
        Some((what, of)) => (what, type_of(of)?),
        None => (text, TypeOf::Own),
    };
    let what = match what {
        "tensors" => AccessedData::Tensors,
        "broadcast" => AccessedData::Broadcast,
        "reduced" => AccessedData::Reduced,
        what => match what.parse() {
            Ok(position) => AccessedData::Input(position),
            Err(_) if of == TypeOf::Own => return Err(format!("`{text}` has no type")),
            Err(_) => AccessedData::Elements(formula(what)?),
        },
    };
    Ok(Moved { what, of })
}

fn type_of(text: &str) -> Result<TypeOf, String> {
    if let Some(position) = text.strip_prefix("value ") {
        return position.parse().map(TypeOf::Value).map_err(|_| format!("`{text}` is not a position"));
    }
    match text.parse() {
        Ok(position) => Ok(TypeOf::Input(position)),
        Err(_) => Element::parse(text).map(TypeOf::Element).ok_or_else(|| format!("`{text}` is not a type")),
    }
}

/// Whether a name matches a pattern in which `*` matches anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            let Some(rest) = name.strip_prefix(before) else { return false };
            (0..=rest.len()).filter(|&at| rest.is_char_boundary(at)).any(|at| fits(after, &rest[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_of_a_formula_is_a_dimension_a_value_or_known() {
        for (at, rule) in OpRules::built_in().rules.iter().enumerate() {
            let mut known: HashSet<&str> = rule.values.iter().map(|(name, _)| name.as_str()).collect();
            for dimension in rule.inputs.iter().flat_map(|(_, dimensions)| dimensions) {
                match dimension {
                    Dimension::Any => {}
                    Dimension::Named(name) | Dimension::Several(name) => drop(known.insert(name)),
                }
            }
            if ["tokens", "topk", "experts"].iter().all(|name| known.contains(name)) {
                known.insert("active");
            }
            let mut check = |expression: &Expression| {
                expression.names(&mut |name, _| {
                    let fine = known.contains(name.as_str()) || name.starts_with("elements_");
                    assert!(fine, "`{name}` of model {at} is not known");
                });
            };
            rule.flops.iter().for_each(&mut check);
            for moved in rule.reads.iter().chain(&rule.writes) {
                if let AccessedData::Elements(expression) = &moved.what {
                    check(expression);
                }
            }
            let moves = !rule.reads.is_empty() || !rule.writes.is_empty();
            assert!(moves != rule.convolution.is_some(), "model {at} moves nothing, or twice");
        }
    }

    #[test]
    fn a_name_has_one_model_unless_shapes_tell_them_apart() {
        let rules = OpRules::built_in();
        for (name, models) in &rules.by_name {
            assert!(models.len() == 1 || name == "aten::_grouped_mm", "{name} has {}", models.len());
        }
        assert_eq!(rules.of("aten::_grouped_mm").len(), 2);
        assert_eq!(rules.of("aten::nothing").len(), 0);
    }

    #[test]
    fn patterns_fit_names() {
        let rules = OpRules::built_in();
        assert_eq!(rules.of("triton_poi_fused__unsafe_view_mul_silu_2").len(), 1);
        assert_eq!(rules.of("triton_poi_fused_0").len(), 0, "nothing says what it does");
        assert_eq!(rules.of("triton_poi_fused_embedding_0").len(), 0, "it picks rows");
    }
}
