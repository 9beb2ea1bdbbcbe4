//! What the ops of a torch trace must compute and move at least, from the shapes of their inputs: matrix products and
//! attention. No counters are needed, and none of what a kernel does beyond that is seen.

use std::collections::BTreeMap;

use hw::{DataType, Level, Pipe};
use trace::{Map, RowRef, StrId, Table, Trace};

use super::place::Work;
use crate::attribution::{Attribution, Site, Source, attribute};

/// One op with inputs of one shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Op {
    pub name: String,
    /// Shapes of its tensors: `512x768 768x3072`.
    pub shapes: String,
    pub data_type: DataType,
    pub calls: i64,
    /// Time of the GPU work of all calls.
    pub total_ns: i64,
    /// Kernel with most of that time.
    pub kernel: String,
    pub work: Work,
}

/// The ops of a trace that can be modelled, those with most time first.
pub(super) fn ops(trace: &Trace) -> Vec<Op> {
    if trace.args.is_empty() {
        return Vec::new();
    }
    let Ok(attribution) = attribute(trace, None) else { return Vec::new() };
    type Named = (String, String, String);
    let mut found: BTreeMap<Named, (i64, Map<u32, i64>)> = BTreeMap::new();
    for row in 0..trace.kernels.len() {
        let site = attribution.site(RowRef::new(Table::Kernels, row));
        // A replayed graph runs an op many times for one call in the trace: what each replay did is not told here.
        if site.source != Source::Eager || site.input_dims.is_empty() {
            continue;
        }
        let entry = found.entry(key(&attribution, site)).or_default();
        let time = trace.kernels.end[row] - trace.kernels.start[row];
        entry.0 += time;
        *entry.1.entry(trace.kernels.name[row].0).or_default() += time;
    }
    let calls = calls(trace);
    let mut ops: Vec<Op> = Vec::new();
    for ((name, dims, types), (total_ns, kernels)) in found {
        let Some(model) = model(&name, &dims, &types) else { continue };
        let count = calls.get(&(name.clone(), dims, types)).copied().unwrap_or(0);
        let kernel = kernels.iter().max_by_key(|&(&name, &time)| (time, std::cmp::Reverse(name)));
        let kernel = kernel.map_or(String::new(), |(&name, _)| trace.strings.get(StrId(name)).to_owned());
        let work = model.work(count as f64);
        ops.push(Op {
            name,
            shapes: model.shapes,
            data_type: model.data_type,
            calls: count,
            total_ns,
            kernel,
            work,
        });
    }
    ops.sort_by(|a, b| {
        b.total_ns.cmp(&a.total_ns).then_with(|| (&a.name, &a.shapes).cmp(&(&b.name, &b.shapes)))
    });
    ops.retain(|op| op.calls > 0);
    ops
}

fn key(attribution: &Attribution, site: &Site) -> (String, String, String) {
    let text = |id| attribution.text(id);
    (text(site.cpu_op).to_owned(), compact(text(site.input_dims)), compact(text(site.input_types)))
}

/// JSON in one spelling, however the source broke its lines.
fn compact(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text).map_or_else(|_| text.to_owned(), |json| json.to_string())
}

/// Calls of each op by name, shapes and types.
fn calls(trace: &Trace) -> Map<(String, String, String), i64> {
    let (Some(dims), types) = (trace.strings.find("Input Dims"), trace.strings.find("Input type")) else {
        return Map::default();
    };
    let mut by_text: Map<(StrId, StrId, StrId), i64> = Map::default();
    for row in 0..trace.regions.len() {
        let owner = RowRef::new(Table::Regions, row);
        let Some(dims) = trace.args.value(owner, dims) else { continue };
        let types = types.and_then(|types| trace.args.value(owner, types)).unwrap_or(StrId::EMPTY);
        *by_text.entry((trace.regions.name[row], dims, types)).or_default() += 1;
    }
    let mut calls = Map::default();
    for ((name, dims, types), count) in by_text {
        let text = |id| trace.strings.get(id);
        *calls.entry((text(name).to_owned(), compact(text(dims)), compact(text(types)))).or_default() +=
            count;
    }
    calls
}

/// What one call does.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    flops: f64,
    elements: f64,
    data_type: DataType,
    shapes: String,
}

impl Model {
    fn work(&self, calls: f64) -> Work {
        let bytes = self.elements * f64::from(self.data_type.bits()) / 8.0;
        Work {
            flops: BTreeMap::from([((self.data_type, Pipe::Matrix), calls * self.flops)]),
            bytes: BTreeMap::from([(Level::Hbm, calls * bytes)]),
            ..Work::default()
        }
    }
}

/// The model of an op, from the JSON of its input shapes and types.
fn model(op: &str, dims: &str, types: &str) -> Option<Model> {
    let dims: Vec<serde_json::Value> = serde_json::from_str(dims).ok()?;
    let types: Vec<String> = serde_json::from_str(types).unwrap_or_default();
    let shape = |at: usize| -> Option<Vec<f64>> {
        dims.get(at)?.as_array()?.iter().map(|size| size.as_u64().map(|size| size as f64)).collect()
    };
    let product = |sizes: &[f64]| sizes.iter().product::<f64>();
    let (first, flops, elements, count) = match op {
        "aten::mm" | "aten::bmm" | "aten::_scaled_mm" => matrix(0, shape(0)?, shape(1)?)?,
        "aten::addmm" | "aten::baddbmm" | "aten::_addmm_activation" => matrix(1, shape(1)?, shape(2)?)?,
        "aten::linear" => {
            let (input, weight) = (shape(0)?, shape(1)?);
            let [n, k] = weight[..] else { return None };
            let rows = product(&input) / k;
            (0, 2.0 * rows * n * k, rows * k + n * k + rows * n, 2)
        }
        op if op.contains("scaled_dot_product") && op.contains("attention") && !op.contains("backward") => {
            let (query, key, value) = (shape(0)?, shape(1)?, shape(2)?);
            let (&[batch, heads, rows, width], &[_, _, length, _]) = (&query[..], &key[..]) else {
                return None;
            };
            let moved = 2.0 * product(&query) + product(&key) + product(&value);
            (0, 4.0 * batch * heads * rows * length * width, moved, 3)
        }
        _ => return None,
    };
    let data_type = types.get(first).and_then(|name| DataType::parse(name))?;
    let shapes: Vec<String> = (first..first + count).filter_map(shape).map(|sizes| written(&sizes)).collect();
    (flops > 0.0).then(|| Model { flops, elements, data_type, shapes: shapes.join(" ") })
}

/// A product of matrices, or of as many pairs of them as the first dimension says.
fn matrix(first: usize, a: Vec<f64>, b: Vec<f64>) -> Option<(usize, f64, f64, usize)> {
    let (batch, m, k, n) = match (&a[..], &b[..]) {
        (&[m, k], &[_, n]) => (1.0, m, k, n),
        (&[batch, m, k], &[_, _, n]) => (batch, m, k, n),
        _ => return None,
    };
    Some((first, 2.0 * batch * m * n * k, batch * (m * k + k * n + m * n), 2))
}

fn written(sizes: &[f64]) -> String {
    sizes.iter().map(|size| format!("{size:.0}")).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op: &str, dims: &str, types: &str) -> Option<(f64, f64)> {
        model(op, dims, types).map(|model| (model.flops, model.elements))
    }

    #[test]
    fn products_are_counted_as_by_hand() {
        let half = r#"["c10::Half", "c10::Half", "c10::Half"]"#;
        assert_eq!(of("aten::mm", "[[2, 3], [3, 5]]", half), Some((60.0, 6.0 + 15.0 + 10.0)));
        assert_eq!(of("aten::addmm", "[[5], [2, 3], [3, 5], [], []]", half), Some((60.0, 31.0)));
        assert_eq!(of("aten::bmm", "[[4, 2, 3], [4, 3, 5]]", half), Some((240.0, 124.0)));
        assert_eq!(of("aten::linear", "[[1, 2, 3], [5, 3], [5]]", half), Some((60.0, 31.0)));
        // Scores and their product with the values: two products of 7 by 11 by 16 in each of 2 x 4 heads.
        let attention = of(
            "aten::_scaled_dot_product_flash_attention",
            "[[2, 4, 7, 16], [2, 4, 11, 16], [2, 4, 11, 16]]",
            half,
        );
        assert_eq!(attention, Some((4.0 * 8.0 * 7.0 * 11.0 * 16.0, 8.0 * 16.0 * (14.0 + 22.0))));
    }

    #[test]
    fn what_is_not_understood_has_no_model() {
        let half = r#"["c10::Half", "c10::Half"]"#;
        assert_eq!(of("aten::relu", "[[2, 3]]", half), None);
        assert_eq!(of("aten::mm", "[[2], [3, 5]]", half), None);
        assert_eq!(of("aten::mm", "[]", half), None);
        assert_eq!(of("aten::mm", "nonsense", half), None);
        assert_eq!(of("aten::mm", "[[2, 3], [3, 5]]", r#"["Opaque", "Opaque"]"#), None);
        assert_eq!(of("aten::mm", "[[2, 0], [0, 5]]", half), None);
        assert_eq!(of("aten::_scaled_dot_product_flash_attention", "[[2, 4], [2, 4], [2]]", half), None);
    }
}
