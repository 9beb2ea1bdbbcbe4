//! Shapes of HLO ops: the compiled programs in a profile (`Hlo Proto` in `/host:metadata`).
//!
//! ```text
//! HloProto ─► module ─► computations ─► instructions (shape, operands) ─► inputs of an op by (module, op)
//! ```
//!
//! The inputs of a matrix product are given as batch × m × k and batch × k × n, whatever the program's
//! layout, so that one rule handles them all. A convolution is given as input, weights (outputs × reduction)
//! and result (rows × outputs). Every other op has the shapes of its operands.

use serde_json::Value as Json;
use trace::Map;

use super::plane::Plane;
use crate::protobuf::{Fields, Value};

/// The inputs of an op, as torch's profiler writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inputs {
    /// JSON: a list of sizes per input.
    pub dims: String,
    /// JSON: a type per input.
    pub types: String,
}

/// Inputs by module and op.
pub(super) type Shapes = Map<(String, String), Inputs>;

/// Shapes of all programs; ops that differ between two programs of one name are left out.
pub(super) fn shapes(planes: &[Plane]) -> Shapes {
    let mut found: Map<(String, String), Option<Inputs>> = Map::default();
    let protos = planes.iter().flat_map(|plane| &plane.programs).filter_map(|entry| proto(entry));
    for module in protos.filter_map(|proto| bytes(proto, 1)) {
        let name = text(module, 1);
        let computations: Vec<Computation> =
            all(module, 3).map(|value| Computation::of(value.bytes())).collect();
        for computation in &computations {
            for instruction in &computation.instructions {
                let Some(inputs) = computation.inputs(instruction, &computations) else { continue };
                found
                    .entry((name.clone(), instruction.name.clone()))
                    .and_modify(|known| *known = known.take().filter(|known| *known == inputs))
                    .or_insert(Some(inputs));
            }
        }
    }
    found.into_iter().filter_map(|(op, inputs)| Some((op, inputs?))).collect()
}

/// The program in an entry of the plane's table: stats of the entry's value.
fn proto(entry: &[u8]) -> Option<&[u8]> {
    all(bytes(entry, 2)?, 5).find_map(|stat| bytes(stat.bytes(), 6))
}

fn all(message: &[u8], field: u32) -> impl Iterator<Item = Value<'_>> {
    Fields::of(message).filter(move |(number, _)| *number == field).map(|(_, value)| value)
}

fn bytes(message: &[u8], field: u32) -> Option<&[u8]> {
    all(message, field).next().map(Value::bytes)
}

fn text(message: &[u8], field: u32) -> String {
    String::from_utf8_lossy(bytes(message, field).unwrap_or_default()).into_owned()
}

/// Whole numbers of a field, one by one or packed.
fn numbers(message: &[u8], field: u32) -> Vec<u64> {
    let mut numbers = Vec::new();
    for value in all(message, field) {
        let Value::Bytes(mut rest) = value else {
            numbers.push(value.whole());
            continue;
        };
        while !rest.is_empty() {
            let Some(length) = rest.iter().take(10).position(|byte| byte & 0x80 == 0) else { break };
            let digits = rest[..=length].iter().enumerate();
            numbers.push(digits.map(|(place, byte)| u64::from(byte & 0x7f) << (7 * place)).sum());
            rest = &rest[length + 1..];
        }
    }
    numbers
}

struct Computation {
    id: u64,
    instructions: Vec<Instruction>,
    shapes: Map<u64, Shape>,
}

struct Instruction {
    name: String,
    operands: Vec<u64>,
    /// Computations that a fusion calls.
    called: Vec<u64>,
    arithmetic: Option<Arithmetic>,
}

/// Operations of matrix units.
enum Arithmetic {
    Product(Product),
    Convolution(Convolution),
}

/// A convolution without gaps between its inputs' elements.
struct Convolution {
    /// The dimension of the weights that has one element per output.
    outputs: u64,
    result: Shape,
}

/// Which dimensions of a matrix product's inputs are reduced, and which are batches.
struct Product {
    contracting: [Vec<u64>; 2],
    batch: [Vec<u64>; 2],
}

#[derive(Clone, Debug, PartialEq)]
struct Shape {
    element: &'static str,
    sizes: Vec<u64>,
}

/// XLA's type numbers, with torch's names.
const ELEMENTS: [(u64, &str); 9] = [
    (1, "bool"),
    (2, "signed char"),
    (4, "int"),
    (5, "long int"),
    (10, "c10::Half"),
    (11, "float"),
    (12, "double"),
    (16, "c10::BFloat16"),
    (20, "c10::Float8_e4m3fn"),
];

impl Shape {
    fn of(message: &[u8]) -> Self {
        let number = all(message, 2).next().map_or(0, Value::whole);
        let element = ELEMENTS.iter().find(|(known, _)| *known == number).map_or("", |(_, name)| name);
        Self { element, sizes: numbers(message, 3) }
    }
}

impl Computation {
    fn of(message: &[u8]) -> Self {
        let mut found = Self {
            id: all(message, 5).next().map_or(0, Value::whole),
            instructions: Vec::new(),
            shapes: Map::default(),
        };
        for instruction in all(message, 2).map(Value::bytes) {
            let id = all(instruction, 35).next().map_or(0, Value::whole);
            found.shapes.insert(id, Shape::of(bytes(instruction, 3).unwrap_or_default()));
            found.instructions.push(Instruction {
                name: text(instruction, 1),
                operands: numbers(instruction, 36),
                called: numbers(instruction, 38),
                arithmetic: Product::of(instruction)
                    .map(Arithmetic::Product)
                    .or_else(|| Convolution::of(instruction).map(Arithmetic::Convolution)),
            });
        }
        found
    }

    /// The inputs of one instruction; a fusion of a single matrix product or convolution has its inputs.
    fn inputs(&self, instruction: &Instruction, all: &[Computation]) -> Option<Inputs> {
        let fused = || {
            let called = |computation: &&Computation| instruction.called.contains(&computation.id);
            let mut products = all.iter().filter(called).flat_map(|inner| {
                inner.instructions.iter().filter(|one| one.arithmetic.is_some()).map(move |one| (inner, one))
            });
            let only = products.next()?;
            products.next().is_none().then_some(only)
        };
        let (home, instruction) = match instruction.arithmetic {
            Some(_) => (self, instruction),
            None => fused().unwrap_or((self, instruction)),
        };
        let operands: Vec<&Shape> =
            instruction.operands.iter().filter_map(|id| home.shapes.get(id)).collect();
        if operands.len() != instruction.operands.len() || operands.is_empty() {
            return None;
        }
        let mut sizes: Vec<Vec<u64>> = operands.iter().map(|shape| shape.sizes.clone()).collect();
        let mut types: Vec<&str> = operands.iter().map(|shape| shape.element).collect();
        match &instruction.arithmetic {
            Some(Arithmetic::Product(product)) => {
                let [left, right] = product.normal(operands.first()?, operands.get(1)?)?;
                sizes.splice(..2, [left, right]);
            }
            Some(Arithmetic::Convolution(convolution)) => {
                let [weights, result] = convolution.normal(operands.get(1)?)?;
                sizes.splice(1.., [weights, result]);
                types.splice(2.., [convolution.result.element]);
            }
            None => {}
        }
        Some(Inputs { dims: serde_json::to_string(&sizes).ok()?, types: serde_json::to_string(&types).ok()? })
    }
}

impl Convolution {
    /// Parses a `convolution`, or a library's forward convolution; its backward passes have other operands.
    fn of(instruction: &[u8]) -> Option<Self> {
        let forward = ["$convForward", "$convBiasActivationForward"];
        let target = text(instruction, 28);
        if text(instruction, 2) != "convolution" && !forward.iter().any(|word| target.contains(word)) {
            return None;
        }
        let (window, dims) = (bytes(instruction, 15)?, bytes(instruction, 16)?);
        let number = |message, field| all(message, field).next().map_or(0, Value::whole);
        // Spaced-out elements have gaps where nothing is multiplied.
        if all(window, 1).any(|dim| number(dim.bytes(), 6) > 1) {
            return None;
        }
        let shape = bytes(instruction, 3)?;
        // A library call returns the result and its workspace.
        let result = Shape::of(bytes(shape, 4).unwrap_or(shape));
        Some(Self { outputs: number(dims, 4), result })
    }

    /// The weights as outputs × reduction, and the result as rows × outputs.
    fn normal(&self, weights: &Shape) -> Option<[Vec<u64>; 2]> {
        let count = |sizes: &[u64]| sizes.iter().try_fold(1u64, |all, &size| all.checked_mul(size));
        let outputs = *weights.sizes.get(self.outputs as usize)?;
        let summed = count(&weights.sizes)?.checked_div(outputs)?;
        let elements = count(&self.result.sizes)?;
        (elements % outputs == 0).then(|| [vec![outputs, summed], vec![elements / outputs, outputs]])
    }
}

impl Product {
    /// Parses a `dot`, or a library call whose settings describe the product.
    fn of(instruction: &[u8]) -> Option<Self> {
        if text(instruction, 2) == "dot" {
            let dims = bytes(instruction, 30)?;
            let of = |field| numbers(dims, field);
            return Some(Self { contracting: [of(1), of(2)], batch: [of(3), of(4)] });
        }
        let target = text(instruction, 28);
        if !["$gemm", "matmul"].iter().any(|word| target.contains(word)) {
            return None;
        }
        let settings: Json = serde_json::from_slice(bytes(instruction, 43)?).ok()?;
        let dims = settings.pointer("/gemm_backend_config/dot_dimension_numbers");
        let dims = dims.or_else(|| settings.get("dot_dimension_numbers"))?;
        let of = |key: &str| -> Vec<u64> {
            let list = dims.get(key).and_then(Json::as_array).into_iter().flatten();
            list.filter_map(|one| one.as_u64().or_else(|| one.as_str()?.parse().ok())).collect()
        };
        Some(Self {
            contracting: [of("lhs_contracting_dimensions"), of("rhs_contracting_dimensions")],
            batch: [of("lhs_batch_dimensions"), of("rhs_batch_dimensions")],
        })
    }

    /// The two inputs as batch × m × k and batch × k × n.
    fn normal(&self, left: &Shape, right: &Shape) -> Option<[Vec<u64>; 2]> {
        let part = |shape: &Shape, dims: &[u64]| -> Option<u64> {
            dims.iter().try_fold(1u64, |all, &dim| all.checked_mul(*shape.sizes.get(dim as usize)?))
        };
        let rest = |shape: &Shape, side: usize| -> Option<u64> {
            let is_free =
                |dim: &u64| !self.contracting[side].contains(dim) && !self.batch[side].contains(dim);
            part(shape, &(0..shape.sizes.len() as u64).filter(is_free).collect::<Vec<_>>())
        };
        let (batch, k) = (part(left, &self.batch[0])?, part(left, &self.contracting[0])?);
        let agrees = batch == part(right, &self.batch[1])? && k == part(right, &self.contracting[1])?;
        agrees.then_some([vec![batch, rest(left, 0)?, k], vec![batch, k, rest(right, 1)?]])
    }
}
