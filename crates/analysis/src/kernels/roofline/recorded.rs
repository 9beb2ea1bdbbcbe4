//! The inputs of an op as a torch trace records them: shapes, types and values.

use hw::DataType;
use serde_json::Value;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub bits: u32,
    /// Booleans, integers, floating point: mixed types promote to the highest class, then the widest.
    class: u8,
    /// The type of the arithmetic units; `None` for booleans and 16-bit integers, which they do not support.
    pub data_type: Option<DataType>,
}

impl Element {
    /// Reads `c10::BFloat16`, `long int`, `bool`, `bf16`.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.trim_start_matches("c10::");
        let class_and_bits = match plain {
            "bool" => Some((0, 8)),
            "short" | "short int" | "int16" => Some((1, 16)),
            "complex<float>" => Some((3, 64)),
            "complex<double>" => Some((3, 128)),
            _ => None,
        };
        if let Some((class, bits)) = class_and_bits {
            return Some(Self { bits, class, data_type: None });
        }
        let data_type = DataType::parse(text)?;
        let whole = matches!(data_type, DataType::Int8 | DataType::Int32 | DataType::Int64);
        Some(Self { bits: data_type.bits(), class: if whole { 1 } else { 2 }, data_type: Some(data_type) })
    }

    /// By torch's `ScalarType` number, as op arguments record it.
    pub fn numbered(number: u32) -> Option<Self> {
        let name = match number {
            0 | 1 => "i8",
            2 => "short",
            3 => "int",
            4 => "long",
            5 => "half",
            6 => "float",
            7 => "double",
            11 => "bool",
            15 => "bfloat16",
            23..=26 => "float8_e4m3fn",
            _ => return None,
        };
        Self::parse(name)
    }

    /// The type that both types promote to.
    pub fn with(self, other: Self) -> Self {
        if (other.class, other.bits) > (self.class, self.bits) { other } else { self }
    }

    pub fn bytes(self) -> f64 {
        f64::from(self.bits) / 8.0
    }
}

/// A tensor of known shape and type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tensor {
    pub sizes: Vec<f64>,
    pub element: Element,
}

impl Tensor {
    pub fn elements(&self) -> f64 {
        self.sizes.iter().product()
    }
}

/// The inputs of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Inputs {
    /// Shapes by position; `None` if the input is not a single tensor.
    sizes: Vec<Option<Vec<f64>>>,
    /// Types as the source writes them.
    types: Vec<String>,
    values: Vec<String>,
    /// Whether there are lists of tensors, whose types are not recorded.
    lists: bool,
}

impl Inputs {
    /// Reads the JSON of `Input Dims`, `Input type` and `Concrete Inputs`.
    pub fn parse(dims: &str, types: &str, values: &str) -> Option<Self> {
        let dims: Vec<Value> = serde_json::from_str(dims).ok()?;
        let texts = |json: &str| -> Vec<String> {
            let items: Vec<Value> = serde_json::from_str(json).unwrap_or_default();
            items.iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
        };
        let (types, values) = (texts(types), texts(values));
        let lists =
            dims.iter().any(|item| item.as_array().is_some_and(|sizes| sizes.iter().any(Value::is_array)));
        let sizes = dims.iter().map(sizes).collect();
        Some(Self { sizes, types, values, lists })
    }

    /// Whether any input is a list of tensors.
    pub fn has_lists(&self) -> bool {
        self.lists
    }

    /// How many inputs there are.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// The shape at a position, if it is a tensor.
    pub fn sizes(&self, at: usize) -> Option<&[f64]> {
        self.element(at)?;
        self.sizes.get(at)?.as_deref()
    }

    /// The type at a position.
    pub fn element(&self, at: usize) -> Option<Element> {
        self.types.get(at).and_then(|name| Element::parse(name))
    }

    /// The tensor at a position.
    pub fn tensor(&self, at: usize) -> Option<Tensor> {
        Some(Tensor { sizes: self.sizes(at)?.to_vec(), element: self.element(at)? })
    }

    /// Whether the input at a position has a shape but an unknown type.
    pub fn is_opaque(&self, at: usize) -> bool {
        let shaped = self.sizes.get(at).is_some_and(|sizes| sizes.as_ref().is_some_and(|s| !s.is_empty()));
        shaped && self.element(at).is_none()
    }

    /// Elements of an input with an unknown type.
    pub fn opaque_elements(&self, at: usize) -> f64 {
        self.sizes.get(at).and_then(Option::as_ref).map_or(0.0, |sizes| sizes.iter().product())
    }

    /// Every tensor that has dimensions; scalars passed as tensors have none.
    pub fn tensors(&self) -> Vec<Tensor> {
        (0..self.len()).filter_map(|at| self.tensor(at)).filter(|tensor| !tensor.sizes.is_empty()).collect()
    }

    /// A number or flag.
    pub fn value(&self, at: usize) -> Option<f64> {
        match self.values.get(at)?.trim() {
            "True" | "true" => Some(1.0),
            "False" | "false" => Some(0.0),
            text => text.parse().ok(),
        }
    }

    /// A list of numbers: `[1, 1]`; a single number is a list of one.
    pub fn list(&self, at: usize) -> Option<Vec<f64>> {
        let text = self.values.get(at)?.trim();
        match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some("") => Some(Vec::new()),
            Some(inner) => inner.split(',').map(|item| flag(item.trim())).collect(),
            None => text.parse().ok().map(|number| vec![number]),
        }
    }
}

fn flag(text: &str) -> Option<f64> {
    match text {
        "True" | "true" => Some(1.0),
        "False" | "false" => Some(0.0),
        text => text.parse().ok(),
    }
}

fn sizes(item: &Value) -> Option<Vec<f64>> {
    item.as_array()?.iter().map(|size| size.as_u64().map(|size| size as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_as_torch_writes_them() {
        let inputs = Inputs::parse(
            "[[4, 3], [], [], [2], []]",
            r#"["c10::BFloat16", "double", "Scalar", "bool", "ScalarList"]"#,
            r#"["", "", "True", "", "[0, -1]"]"#,
        )
        .unwrap();
        let all = inputs.tensors();
        assert_eq!(all.len(), 2, "a number is no tensor");
        assert_eq!((all[0].elements(), all[0].element.bits), (12.0, 16));
        assert_eq!((all[1].elements(), all[1].element.bytes()), (2.0, 1.0));
        assert_eq!(inputs.value(2), Some(1.0));
        assert_eq!(inputs.value(0), None);
        assert_eq!(inputs.list(4), Some(vec![0.0, -1.0]));
        assert_eq!(inputs.tensor(7), None);
        assert_eq!(Inputs::parse("nonsense", "[]", "[]"), None);
    }

    #[test]
    fn mixed_types_become_the_wider_and_floating_one() {
        let of = |text| Element::parse(text).unwrap();
        assert_eq!(of("long int").with(of("c10::Half")), of("half"));
        assert_eq!(of("c10::BFloat16").with(of("float")), of("float"));
        assert_eq!(of("bool").with(of("int")), of("int"));
        assert_eq!(Element::numbered(15), Some(of("c10::BFloat16")));
        assert_eq!(Element::numbered(99), None);
    }
}
