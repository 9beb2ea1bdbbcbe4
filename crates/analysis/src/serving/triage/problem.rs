//! The size of a matrix product, from the shapes of its op's inputs.

use trace::{Map, StrId};

use super::sites::SiteTotals;
use model::Run;

/// Positions of an op's two matrices, and whether the second is stored transposed (N × K).
struct Operands {
    op: &'static str,
    a: usize,
    b: usize,
    b_transposed: bool,
}

const OPERANDS: &[Operands] = &[
    Operands { op: "aten::mm", a: 0, b: 1, b_transposed: false },
    Operands { op: "aten::bmm", a: 0, b: 1, b_transposed: false },
    Operands { op: "aten::matmul", a: 0, b: 1, b_transposed: false },
    Operands { op: "aten::addmm", a: 1, b: 2, b_transposed: false },
    Operands { op: "aten::_addmm_activation", a: 1, b: 2, b_transposed: false },
    Operands { op: "aten::baddbmm", a: 1, b: 2, b_transposed: false },
    Operands { op: "aten::_scaled_mm", a: 0, b: 1, b_transposed: false },
    Operands { op: "aten::linear", a: 0, b: 1, b_transposed: true },
    Operands { op: "aiter::hipb_mm", a: 0, b: 1, b_transposed: false },
    Operands { op: "aiter::gemm_a16w16", a: 0, b: 1, b_transposed: true },
    Operands { op: "aiter::gemm_a8w8", a: 0, b: 1, b_transposed: true },
    Operands { op: "vllm::rocm_unquantized_gemm", a: 0, b: 1, b_transposed: true },
    Operands { op: "vllm::rocm_aiter_tuned_gemm", a: 0, b: 1, b_transposed: true },
];

/// Batch, M, N and K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub batch: u64,
    pub m: u64,
    pub n: u64,
    pub k: u64,
}

impl Problem {
    /// The product computed by an op with inputs of these shapes (JSON); `None` if the shapes do not fit.
    pub fn of(op: &str, dims: &str) -> Option<Self> {
        let operands = OPERANDS.iter().find(|operands| operands.op == op)?;
        let dims: Vec<serde_json::Value> = serde_json::from_str(dims).ok()?;
        let shape = |at: usize| serde_json::from_value::<Vec<u64>>(dims.get(at)?.clone()).ok();
        let (a, b) = (shape(operands.a)?, shape(operands.b)?);
        let ([.., rows, depth], [.., first, second]) = (&a[..], &b[..]) else { return None };
        let (k, n) = if operands.b_transposed { (*second, *first) } else { (*first, *second) };
        if *depth != k {
            return None;
        }
        let outer = |shape: &[u64]| shape[..shape.len() - 2].iter().product::<u64>();
        let (batch_a, batch_b) = (outer(&a), outer(&b));
        // If the right side is a single matrix, the batch only adds rows.
        let (batch, m) = if batch_b == 1 { (1, rows * batch_a) } else { (batch_b, *rows) };
        Some(Self { batch, m, n, k })
    }
}

impl Problem {
    /// `32×6144×4096`, with the batch in front if there is one: `64·2048×64×2048`.
    pub fn short(&self) -> String {
        let batch = if self.batch > 1 { format!("{}·", self.batch) } else { String::new() };
        format!("{batch}{}×{}×{}", self.m, self.n, self.k)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.batch > 1 {
            write!(f, "{} of ", self.batch)?;
        }
        write!(f, "M={} N={} K={}", self.m, self.n, self.k)
    }
}

/// Known problems, by op and shapes.
#[derive(Default)]
pub(super) struct Problems {
    known: Map<(String, StrId), Option<Problem>>,
}

impl Problems {
    /// The product with the most of a kernel's time.
    pub fn main(&mut self, context: &Run, sites: &[SiteTotals]) -> Option<Problem> {
        self.all(context, sites).first().map(|(problem, _)| *problem)
    }

    /// The products of a kernel's sites, most time first.
    pub fn note(&mut self, context: &Run, sites: &[SiteTotals]) -> Option<String> {
        let found = self.all(context, sites);
        let (first, _) = found.first()?;
        Some(match found.len() {
            1 => first.to_string(),
            n => format!("{first} and {} more sizes", n - 1),
        })
    }

    fn all(&mut self, context: &Run, sites: &[SiteTotals]) -> Vec<(Problem, i64)> {
        let mut found: Vec<(Problem, i64)> = Vec::new();
        for site in sites {
            for inputs in &site.inputs {
                let (dims, ns) = (inputs.dims, inputs.total_ns);
                let text = context.attribution.text(dims);
                let known = self.known.entry((site.cpu_op.clone(), dims));
                if let Some(problem) = *known.or_insert_with(|| Problem::of(&site.cpu_op, text)) {
                    match found.iter_mut().find(|(other, _)| *other == problem) {
                        Some((_, total)) => *total += ns,
                        None => found.push((problem, ns)),
                    }
                }
            }
        }
        found.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_give_the_product() {
        let cases = [
            ("aten::mm", "[[32, 4096], [4096, 6144]]", Some("M=32 N=6144 K=4096")),
            ("aten::addmm", "[[10], [3, 4], [4, 10], [], []]", Some("M=3 N=10 K=4")),
            ("aten::linear", "[[2, 5, 8], [16, 8], [16]]", Some("M=10 N=16 K=8")),
            ("aten::bmm", "[[4, 2, 8], [4, 8, 16]]", Some("4 of M=2 N=16 K=8")),
            ("aten::mm", "[[32, 4096], [4000, 6144]]", None),
            ("aten::mm", "[[32], [32]]", None),
            ("aten::mm", "[]", None),
            ("aten::mm", "not json", None),
            ("aten::add", "[[32, 4096], [4096, 6144]]", None),
        ];
        for (op, dims, expected) in cases {
            let problem = Problem::of(op, dims).map(|problem| problem.to_string());
            assert_eq!(problem.as_deref(), expected, "{op} {dims}");
        }
    }
}
