//! What kernels read and write, from the shapes and types of their ops.

use serde_json::Value;
use trace::{Map, RowRef};

use model::Run;
use model::attribution::SiteId;

/// Bytes of an element by the type's name in traces.
const TYPES: &[(&str, u64)] = &[
    ("double", 8),
    ("long int", 8),
    ("float", 4),
    ("int", 4),
    ("c10::Half", 2),
    ("c10::BFloat16", 2),
    ("short int", 2),
    ("bool", 1),
    ("unsigned char", 1),
    ("signed char", 1),
    ("c10::Float8_e4m3fn", 1),
    ("c10::Float8_e4m3fnuz", 1),
    ("c10::Float8_e5m2", 1),
];

/// Ops that look up values in a table or a cache: most of that tensor is not touched.
const LOOK_UPS: &[&str] = &["rotary", "rope", "cache", "gather", "embedding", "index"];

/// The tensors that an op works on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tensors {
    /// (elements, bytes) of each input tensor, largest first.
    pub listed: Vec<(u64, u64)>,
    /// Bytes read and written.
    pub moved: u64,
    /// First dimension of the largest tensor, or of the result of a look-up: the tokens.
    pub rows: u64,
    /// Number of dimensions of the largest tensor.
    pub dims: usize,
}

/// Tensors of every site, read once.
pub(super) struct Sizes<'a> {
    context: &'a Run<'a>,
    known: Map<SiteId, Option<Tensors>>,
}

impl<'a> Sizes<'a> {
    pub fn new(context: &'a Run<'a>) -> Self {
        Self { context, known: Map::default() }
    }

    /// The tensors of a row's op; `None` if the trace does not record them.
    pub fn of(&mut self, row: RowRef) -> Option<&Tensors> {
        let context = self.context;
        let site = context.attribution.site_of(row);
        let read = || {
            let facts = context.site(row);
            let text = |id| context.attribution.text(id);
            tensors(text(facts.cpu_op), text(facts.input_dims), text(facts.input_types))
        };
        self.known.entry(site).or_insert_with(read).as_ref()
    }

    /// Number of dimensions of the largest tensor of a row's op, if recorded.
    pub fn dims(&mut self, row: RowRef) -> Option<usize> {
        self.of(row).map(|tensors| tensors.dims)
    }

    /// How many tokens a row's op handles, if recorded.
    pub fn tokens(&mut self, row: RowRef) -> Option<u64> {
        self.of(row).map(|tensors| tensors.rows)
    }

    /// Whether two rows come from one module or one function of the model; true if that is not known.
    pub fn one_place(&self, a: RowRef, b: RowRef) -> bool {
        let (a, b) = (self.context.site(a), self.context.site(b));
        let text = |id| self.context.attribution.text(id);
        let same = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
        let frames = |site: &model::attribution::Site| {
            [site.model_frame, site.location]
                .map(text)
                .into_iter()
                .find(|frame| !frame.is_empty())
                .unwrap_or("")
        };
        let known = !a.module.is_empty() && !b.module.is_empty();
        known && a.module == b.module || same(&without_line(frames(a)), &without_line(frames(b)))
    }

    /// Whether two ops have tensors of the same size, so one may pass its result to the other; true if either
    /// is not known.
    pub fn may_hand_on(&mut self, from: RowRef, to: RowRef) -> bool {
        let largest = self.of(from).map(|tensors| tensors.listed[0].0);
        match (largest, self.of(to)) {
            (Some(largest), Some(to)) => to.listed.iter().any(|&(elements, _)| elements == largest),
            _ => true,
        }
    }
}

/// An op's tensors from its `Input Dims` and `Input type`. `None` if a tensor's type is not known; missing
/// types count as two bytes, the usual model precision.
fn tensors(op: &str, dims: &str, types: &str) -> Option<Tensors> {
    let dims: Vec<Value> = serde_json::from_str(dims).ok()?;
    let types: Vec<String> = serde_json::from_str(types).unwrap_or_default();
    let mut shapes: Vec<Shape> = Vec::new();
    for (i, shape) in dims.iter().enumerate() {
        let name = types.get(i).map(String::as_str);
        if let Some("Scalar" | "ScalarList" | "") = name {
            continue;
        }
        let element = match name {
            None | Some("TensorList") => 2,
            Some(name) => TYPES.iter().find(|(known, _)| *known == name)?.1,
        };
        collect(shape, element, &mut shapes);
    }
    let looks_up = LOOK_UPS.iter().any(|word| op.contains(word));
    if looks_up {
        let tokens = usual_rows(&shapes)?;
        shapes.retain(|shape| shape.rows == tokens);
    }
    let mut listed: Vec<(u64, u64)> = shapes.iter().map(|shape| (shape.elements, shape.bytes)).collect();
    listed.sort_unstable_by(|a, b| b.cmp(a));
    let largest = listed.first()?.1;
    let main = shapes.iter().max_by_key(|shape| shape.elements)?;
    let (rows, dims) = (main.rows, main.dims);
    let all = listed.iter().fold(0u64, |all, &(_, bytes)| all.saturating_add(bytes));
    // A look-up writes as much as it reads; `aten` ops return a new tensor unless their name ends in an
    // underscore; others list what they write.
    let makes_result = op.starts_with("aten::") && !op.ends_with('_') && !op.ends_with("_out");
    let written = match (looks_up, makes_result) {
        (true, _) => all,
        (false, true) => largest,
        (false, false) => 0,
    };
    Some(Tensors { listed, moved: all.saturating_add(written), rows, dims })
}

/// `qwen2.py(54): forward` as `qwen2.py: forward`.
fn without_line(frame: &str) -> String {
    match (frame.find('('), frame.find("):")) {
        (Some(open), Some(close)) if open < close => format!("{}{}", &frame[..open], &frame[close + 1..]),
        _ => frame.to_string(),
    }
}

struct Shape {
    rows: u64,
    dims: usize,
    elements: u64,
    bytes: u64,
}

/// The most common first dimension: the tokens. If several tie, the smallest, because tables and caches are
/// larger than what is looked up.
fn usual_rows(shapes: &[Shape]) -> Option<u64> {
    let count = |rows: u64| shapes.iter().filter(|shape| shape.rows == rows).count();
    let all = shapes.iter().map(|shape| shape.rows);
    all.max_by_key(|&rows| (count(rows), std::cmp::Reverse(rows)))
}

/// One shape, or the shapes of a list of tensors.
fn collect(shape: &Value, element: u64, into: &mut Vec<Shape>) {
    let Some(parts) = shape.as_array().filter(|parts| !parts.is_empty()) else { return };
    if parts.iter().all(Value::is_array) {
        parts.iter().for_each(|part| collect(part, element, into));
        return;
    }
    let elements = parts.iter().map(Value::as_u64).try_fold(1u64, |all, n| all.checked_mul(n?));
    if let (Some(elements), Some(rows)) = (elements, parts[0].as_u64()) {
        into.push(Shape { rows, dims: parts.len(), elements, bytes: elements.saturating_mul(element) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_told_by_shapes_and_types() {
        let silu = tensors("aten::silu", "[[2048, 14336]]", r#"["c10::BFloat16"]"#).unwrap();
        assert_eq!((silu.listed[0].1, silu.moved), (2 * 2048 * 14336, 2 * 2 * 2048 * 14336));
        let copy =
            tensors("aten::copy_", "[[4, 8], [4, 8], []]", r#"["float", "c10::Half", "Scalar"]"#).unwrap();
        assert_eq!((copy.listed[0].1, copy.moved), (128, 192));
        let cat = tensors("aten::cat", "[[[4, 8], [4, 8]], []]", r#"["TensorList", "Scalar"]"#).unwrap();
        assert_eq!(cat.listed, [(32, 64), (32, 64)]);
        assert_eq!(tensors("aten::x", "[[4]]", r#"["c10::Mystery"]"#), None);
        assert_eq!(tensors("", "", ""), None);
        assert_eq!(tensors("aten::x", "[[]]", r#"["Scalar"]"#), None);
        assert_eq!(tensors("aten::x", "[[99999999999, 99999999999]]", r#"["float"]"#), None);
    }

    #[test]
    fn tables_and_caches_are_not_moved_as_a_whole() {
        let half = r#""c10::BFloat16""#;
        let types = format!(r#"["long int", {half}, {half}, "Scalar", {half}]"#);
        let rope = tensors("_C::rotary_embedding", "[[32], [32, 4096], [32, 512], [], [131072, 64]]", &types)
            .unwrap();
        assert_eq!(rope.moved, 2 * (32 * 8 + 32 * 4096 * 2 + 32 * 512 * 2));
        let types = format!(r#"[{half}, {half}, {half}, {half}, "long int"]"#);
        let dims = "[[32, 8, 64], [32, 8, 64], [224304, 32, 8, 64], [224304, 32, 8, 64], [32]]";
        let store = tensors("_C_cache_ops::reshape_and_cache_flash", dims, &types).unwrap();
        assert_eq!(store.moved, 2 * (2 * 32 * 512 * 2 + 32 * 8));
    }
}
