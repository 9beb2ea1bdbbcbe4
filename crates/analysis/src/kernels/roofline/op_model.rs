//! What one call of an op must compute and move, from its model and its recorded inputs.

use std::collections::BTreeMap;

use hw::{DataType, Level, Pipe};

use super::op_rules::{AccessedData, Dimension, Moved, OpRule, OpRules, TypeOf};
use super::place::Work;
use super::recorded::{Element, Inputs, Tensor};
use crate::kernels::bottleneck::{Figures, formula_value};

/// The work of one call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Model {
    pub flops: f64,
    pub bytes: f64,
    /// Data type of the arithmetic; for ops that only move bytes, the type they move.
    pub data_type: Option<DataType>,
    pub shapes: String,
    /// Rows and columns of the result, if it is one matrix product.
    pub product: Option<[f64; 2]>,
}

impl Model {
    /// The work of this many calls. Ops that only move bytes have zero operations: known, not missing.
    pub fn work(&self, calls: f64) -> Work {
        let data_type = self.data_type.unwrap_or(DataType::Fp32);
        let pipe = if self.flops > 0.0 { Pipe::Matrix } else { Pipe::Vector };
        Work {
            flops: BTreeMap::from([((data_type, pipe), calls * self.flops)]),
            bytes: BTreeMap::from([(Level::Hbm, calls * self.bytes)]),
            ..Work::default()
        }
    }
}

/// Why an op has no model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmodelled {
    /// The table has no rule with its name.
    NoRule,
    /// The table has a rule, but the inputs it needs are missing or not understood.
    NotRecorded,
}

/// The model of an op, from the JSON of its input shapes, types and values.
pub(super) fn model(op: &str, dims: &str, types: &str, values: &str) -> Result<Model, Unmodelled> {
    let rules = OpRules::built_in().of(op);
    if rules.is_empty() {
        return Err(Unmodelled::NoRule);
    }
    let inputs = Inputs::parse(dims, types, values).ok_or(Unmodelled::NotRecorded)?;
    rules.into_iter().find_map(|rule| apply(rule, &inputs)).ok_or(Unmodelled::NotRecorded)
}

fn apply(rule: &OpRule, inputs: &Inputs) -> Option<Model> {
    if let Some(convolution) = &rule.convolution {
        let done = convolution.done(inputs)?;
        let shapes = written(inputs, &[convolution.input, convolution.weight]);
        let data_type = inputs.element(convolution.input)?.data_type;
        return Some(Model { flops: done.flops, bytes: done.bytes, data_type, shapes, product: None });
    }
    let known = quantities(rule, inputs)?;
    let flops = match &rule.flops {
        Some(formula) => formula_value(formula, &known).filter(|flops| *flops > 0.0)?,
        None => 0.0,
    };
    let mut bytes = 0.0;
    for moved in rule.reads.iter().chain(&rule.writes) {
        bytes += moved_bytes(moved, inputs, &known)?;
    }
    let shown: Vec<usize> = match rule.inputs.is_empty() {
        true => (0..inputs.len()).collect(),
        false => rule.inputs.iter().map(|(position, _)| *position).collect(),
    };
    let first = match rule.inputs.first() {
        Some(&(position, _)) => inputs.element(position),
        None => inputs.tensors().first().map(|tensor| tensor.element),
    };
    let data_type = rule.data_type.or(first?.data_type);
    // Arithmetic in a type that no unit supports is not modelled.
    (bytes > 0.0 && (flops == 0.0 || data_type.is_some())).then(|| Model {
        flops,
        bytes,
        data_type,
        shapes: written(inputs, &shown),
        product: product(&known).filter(|_| flops > 0.0),
    })
}

/// Rows and columns of the result, if the op is one matrix product (`m` or `rows`, `n`, `k`).
fn product(known: &Figures) -> Option<[f64; 2]> {
    let get = |name: &str| known.get(name).copied();
    let alone = get("b").is_none() && get("experts").is_none() && get("k").is_some();
    let rows = get("m").or(get("rows")).filter(|_| alone)?;
    Some([rows, get("n")?])
}

/// Dimensions, values and sizes by name; `None` if shapes do not fit.
fn quantities(rule: &OpRule, inputs: &Inputs) -> Option<Figures> {
    let mut known = Figures::new();
    for (position, dimensions) in &rule.inputs {
        bind(dimensions, inputs.sizes(*position)?, &mut known)?;
    }
    for (name, position) in &rule.values {
        known.insert(name.clone(), inputs.value(*position).unwrap_or(0.0));
    }
    for at in 0..inputs.len() {
        let elements = inputs.tensor(at).filter(|tensor| !tensor.sizes.is_empty());
        known.insert(format!("elements_{at}"), elements.map_or(0.0, |tensor| tensor.elements()));
    }
    let get = |name: &str| known.get(name).copied();
    if let (Some(tokens), Some(topk), Some(experts)) = (get("tokens"), get("topk"), get("experts")) {
        let passed_over = 1.0 - (topk / experts.max(1.0)).min(1.0);
        known.insert("active".into(), experts * (1.0 - passed_over.powf(tokens)));
    }
    Some(known)
}

/// Binds the dimensions of a shape to their names; `None` if the rank differs or a name gets two sizes.
fn bind(dimensions: &[Dimension], sizes: &[f64], known: &mut Figures) -> Option<()> {
    let several = dimensions.iter().position(|dimension| matches!(dimension, Dimension::Several(_)));
    let fixed = dimensions.len() - usize::from(several.is_some());
    if sizes.len() < fixed || (several.is_none() && sizes.len() != fixed) {
        return None;
    }
    let mut at = 0;
    for dimension in dimensions {
        let taken = if matches!(dimension, Dimension::Several(_)) { sizes.len() - fixed } else { 1 };
        let size: f64 = sizes[at..at + taken].iter().product();
        at += taken;
        if let Dimension::Named(name) | Dimension::Several(name) = dimension
            && *known.entry(name.clone()).or_insert(size) != size
        {
            return None;
        }
    }
    Some(())
}

/// Bytes of one access; zero for an input that is not given, `None` if its type is not known.
fn moved_bytes(moved: &Moved, inputs: &Inputs, known: &Figures) -> Option<f64> {
    if moved.what == AccessedData::Tensors {
        if inputs.has_lists() || (0..inputs.len()).any(|at| inputs.is_opaque(at)) {
            return None;
        }
        return Some(inputs.tensors().iter().map(|tensor| tensor.elements() * tensor.element.bytes()).sum());
    }
    let (elements, own) = match &moved.what {
        AccessedData::Input(position) => match inputs.tensor(*position) {
            Some(tensor) => (tensor.elements(), Some(tensor.element)),
            // Optional inputs are often not given.
            None if inputs.is_opaque(*position) => match &moved.of {
                TypeOf::Element(element) => (inputs.opaque_elements(*position), Some(*element)),
                _ => return None,
            },
            None => return Some(0.0),
        },
        AccessedData::Broadcast => {
            let tensors = inputs.tensors();
            (stretched(&tensors)?, promoted(inputs))
        }
        AccessedData::Reduced => (reduced(inputs)?, inputs.element(0)),
        AccessedData::Elements(formula) => (formula_value(formula, known)?, None),
        AccessedData::Tensors => return None,
    };
    let element = match &moved.of {
        TypeOf::Own => own,
        TypeOf::Input(position) => inputs.element(*position),
        TypeOf::Element(element) => Some(*element),
        TypeOf::Value(position) => match inputs.value(*position) {
            Some(number) => Element::numbered(number as u32),
            None => inputs.element(0),
        },
    };
    Some(elements * element?.bytes())
}

/// Elements of the shape that all tensors broadcast to.
fn stretched(tensors: &[Tensor]) -> Option<f64> {
    let longest = tensors.iter().map(|tensor| tensor.sizes.len()).max()?;
    let along = |from_end: usize| {
        let sizes = tensors
            .iter()
            .filter_map(|tensor| tensor.sizes.len().checked_sub(from_end + 1).map(|at| tensor.sizes[at]));
        // Size 0 stays 0.
        sizes.fold(1.0, |all: f64, size| if size == 1.0 { all } else { size })
    };
    Some((0..longest).map(along).product())
}

/// The type that all tensors are promoted to.
fn promoted(inputs: &Inputs) -> Option<Element> {
    let tensors = inputs.tensors();
    tensors.iter().map(|tensor| tensor.element).reduce(Element::with)
}

/// Elements of the first tensor after reducing the dimensions listed at position 1; one if none are.
fn reduced(inputs: &Inputs) -> Option<f64> {
    let tensor = inputs.tensor(0)?;
    let rank = tensor.sizes.len() as f64;
    let axes = inputs.list(1).unwrap_or_default();
    if axes.is_empty() {
        return Some(1.0);
    }
    let gone: Vec<usize> =
        axes.iter().map(|&axis| (if axis < 0.0 { rank + axis } else { axis }) as usize).collect();
    let left = tensor.sizes.iter().enumerate().filter(|(axis, _)| !gone.contains(axis));
    Some(left.map(|(_, size)| size).product())
}

/// Shapes as people write them: `512x768 768x3072`.
fn written(inputs: &Inputs, positions: &[usize]) -> String {
    let shapes = positions.iter().filter_map(|&at| inputs.sizes(at)).filter(|sizes| !sizes.is_empty());
    let text = |sizes: &[f64]| sizes.iter().map(|size| format!("{size:.0}")).collect::<Vec<_>>().join("x");
    shapes.map(text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op: &str, dims: &str, types: &str, values: &str) -> Option<(f64, f64)> {
        model(op, dims, types, values).ok().map(|model| (model.flops, model.bytes))
    }

    const HALF: &str = r#"["c10::Half", "c10::Half", "c10::Half"]"#;
    const FLOAT: &str = r#"["float", "float", "float"]"#;

    #[test]
    fn products_are_counted_as_by_hand() {
        // 2x3 by 3x5: 60 operations on 6, 15 and 10 two-byte numbers.
        assert_eq!(of("aten::mm", "[[2, 3], [3, 5]]", HALF, "[]"), Some((60.0, 62.0)));
        assert_eq!(of("aten::addmm", "[[5], [2, 3], [3, 5], [], []]", HALF, "[]"), Some((70.0, 72.0)));
        assert_eq!(of("aten::bmm", "[[4, 2, 3], [4, 3, 5]]", HALF, "[]"), Some((240.0, 248.0)));
        assert_eq!(
            of("aten::linear", "[[1, 2, 3], [5, 3], []]", r#"["c10::Half", "c10::Half", ""]"#, "[]"),
            Some((60.0, 62.0))
        );
        assert_eq!(of("aten::linear", "[[1, 2, 3], [5, 3], [5]]", HALF, "[]"), Some((70.0, 72.0)));
    }

    #[test]
    fn attention_is_halved_where_it_is_causal() {
        // Scores and their product with the values: two products of 7 by 11 by 16 in each of 2 x 4 heads.
        let name = "aten::_scaled_dot_product_flash_attention";
        let dims = "[[2, 4, 7, 16], [2, 4, 11, 16], [2, 4, 11, 16]]";
        let bytes = 2.0 * 8.0 * 16.0 * (14.0 + 22.0);
        assert_eq!(of(name, dims, HALF, "[]"), Some((4.0 * 8.0 * 7.0 * 11.0 * 16.0, bytes)));
        let square = "[[1, 1, 8, 4], [1, 1, 8, 4], [1, 1, 8, 4], [], []]";
        let causal = |flag: &str| format!(r#"["", "", "", "0.", "{flag}"]"#);
        assert_eq!(of(name, square, HALF, &causal("False")).unwrap().0, 4.0 * 8.0 * 8.0 * 4.0);
        assert_eq!(of(name, square, HALF, &causal("True")).unwrap().0, 2.0 * 8.0 * 8.0 * 4.0);
        // 15 sequences of 1024 tokens, 32 heads with 8 key/value heads, 128 wide.
        let prefill = of(
            "aiter::mha_batch_prefill",
            "[[15360, 32, 128], [835874, 8, 128], [835874, 8, 128], [16], [16], [15616]]",
            r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "int", "int", "int"]"#,
            r#"["", "", "", "", "", "", "1024", "1024", "0.", "0.08", "0.", "False", "True"]"#,
        );
        let tokens = 15.0 * 1024.0;
        let expected =
            (15.0 * 32.0 * 1024.0 * 1024.0 * 256.0, 2.0 * tokens * 128.0 * (32.0 + 8.0 + 8.0 + 32.0));
        assert_eq!(prefill, Some(expected));
        let uneven = of(
            "aiter::mha_batch_prefill",
            "[[15000, 32, 128], [835874, 8, 128], [835874, 8, 128], [16]]",
            r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "int"]"#,
            r#"["", "", "", "", "", "", "1024", "1024"]"#,
        );
        assert_eq!(uneven, None, "lengths are not recorded");
    }

    #[test]
    fn scaled_products_read_a_byte_and_write_what_is_recorded() {
        let types = r#"["c10::Float8_e4m3fnuz", "c10::Float8_e4m3fnuz", "float", "float", "", "", "Scalar", "Scalar"]"#;
        let dims = "[[2, 3], [3, 5], [], [], [], [], [], []]";
        let values = r#"["", "", "", "", "", "", "15", "True"]"#;
        let scaled = model("aten::_scaled_mm", dims, types, values).unwrap();
        assert_eq!((scaled.flops, scaled.bytes), (60.0, 6.0 + 15.0 + 4.0 + 4.0 + 20.0));
        assert_eq!(scaled.data_type, Some(DataType::Fp8));
        let packed = model(
            "aiter::gemm_a4w4",
            "[[2, 8], [5, 8], [2, 1], [5, 1]]",
            r#"["unsigned char", "unsigned char", "unsigned char", "unsigned char"]"#,
            "[]",
        )
        .unwrap();
        assert_eq!((packed.flops, packed.bytes), (2.0 * 2.0 * 5.0 * 16.0, 16.0 + 40.0 + 2.0 + 5.0 + 20.0));
        assert_eq!(packed.data_type, Some(DataType::Fp4));
    }

    #[test]
    fn experts_count_as_far_as_tokens_reach_them() {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "int"]"#;
        // One token picks 2 of 4 experts: two are read.
        let dims = "[[1, 8], [4, 6, 8], [4, 8, 3], [1, 2], [1, 2]]";
        let (flops, bytes) = of("vllm::outplace_fused_experts", dims, types, "[]").unwrap();
        assert_eq!(flops, 2.0 * 2.0 * 8.0 * 6.0 + 2.0 * 2.0 * 3.0 * 8.0 + 8.0 * 3.0);
        assert!((bytes - (2.0 * (8.0 + 8.0) + 8.0 + 8.0 + 2.0 * 2.0 * (48.0 + 24.0))).abs() < 1e-9);
        // Many tokens hit all experts.
        let dims = "[[1000, 8], [4, 6, 8], [4, 8, 3], [1000, 2], [1000, 2]]";
        let (_, many) = of("vllm::outplace_fused_experts", dims, types, "[]").unwrap();
        assert!((many - (2.0 * 16000.0 + 16000.0 + 2.0 * 4.0 * 72.0)).abs() < 1e-6);
        let groups = of("aten::_grouped_mm", "[[10, 3], [2, 3, 5]]", HALF, "[]");
        assert_eq!(groups, Some((300.0, 2.0 * (30.0 + 30.0 + 50.0))));
    }

    #[test]
    fn what_only_moves_has_no_operations() {
        assert_eq!(
            of("aten::add", "[[4, 6], [1, 6], []]", FLOAT, "[]"),
            Some((0.0, 4.0 * (24.0 + 6.0 + 24.0)))
        );
        assert_eq!(of("aten::mul", "[[4, 6], []]", r#"["float", "double"]"#, "[]"), Some((0.0, 4.0 * 48.0)));
        assert_eq!(of("aten::add_", "[[4, 6], [4, 6], []]", FLOAT, "[]"), Some((0.0, 4.0 * 72.0)));
        assert_eq!(
            of("aten::copy_", "[[4], [4], []]", r#"["float", "long int", "Scalar"]"#, "[]"),
            Some((0.0, 48.0))
        );
        assert_eq!(of("aten::eq", "[[4], []]", r#"["long int", "Scalar"]"#, "[]"), Some((0.0, 36.0)));
        assert_eq!(
            of(
                "aten::mean",
                "[[4, 6], [], []]",
                r#"["float", "ScalarList", "Scalar"]"#,
                r#"["", "[-1]", "True"]"#
            ),
            Some((0.0, 4.0 * 28.0))
        );
        assert_eq!(of("aten::sum", "[[4, 6]]", FLOAT, "[]"), Some((0.0, 4.0 * 25.0)));
        assert_eq!(
            of(
                "aten::native_layer_norm",
                "[[4, 6], [], [6], [6], []]",
                r#"["float", "ScalarList", "float", "float", "Scalar"]"#,
                "[]"
            ),
            Some((0.0, 4.0 * (24.0 + 12.0 + 24.0)))
        );
        assert_eq!(
            of(
                "aiter::add_rmsnorm",
                "[[4, 6], [4, 6], [4, 6], [4, 6], [6], []]",
                r#"["float", "float", "float", "float", "float", "Scalar"]"#,
                "[]"
            ),
            Some((0.0, 4.0 * (4.0 * 24.0 + 6.0)))
        );
        let rope = of(
            "_C::rotary_embedding",
            "[[4], [4, 16], [4, 8], [], [100, 8], []]",
            r#"["long int", "float", "float", "Scalar", "float", "Scalar"]"#,
            "[]",
        );
        assert_eq!(rope, Some((0.0, 4.0 * 8.0 + 4.0 * (2.0 * (64.0 + 32.0) + 32.0))));
        let rows = of(
            "aten::embedding",
            "[[1000, 8], [4], [], []]",
            r#"["float", "long int", "Scalar", "Scalar"]"#,
            "[]",
        );
        assert_eq!(rows, Some((0.0, 32.0 + 2.0 * 4.0 * 32.0)));
    }

    #[test]
    fn what_is_not_understood_has_no_model() {
        assert_eq!(model("aten::nothing", "[[2, 3]]", HALF, "[]"), Err(Unmodelled::NoRule));
        for (dims, types) in [
            ("[[2], [3, 5]]", HALF),
            ("[]", HALF),
            ("nonsense", HALF),
            ("[[2, 3], [3, 5]]", r#"["Opaque", "Opaque"]"#),
            ("[[2, 3], [4, 5]]", HALF),
            ("[[2, 0], [0, 5]]", HALF),
        ] {
            assert_eq!(model("aten::mm", dims, types, "[]"), Err(Unmodelled::NotRecorded), "{dims} {types}");
        }
        let lists = model("aten::add", "[[[2, 3], [2, 3]], []]", r#"["TensorList", "Scalar"]"#, "[]");
        assert_eq!(lists, Err(Unmodelled::NotRecorded));
    }
}
