//! Convolutions: how large the result is, and what forward and backward passes compute and move.

use serde::Deserialize;

use super::recorded::Inputs;

/// Positions of a convolution's operands in an op's inputs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Convolution {
    pub input: usize,
    pub weight: usize,
    pub bias: Option<usize>,
    pub stride: Option<usize>,
    pub padding: Option<usize>,
    pub dilation: Option<usize>,
    pub output_padding: Option<usize>,
    pub groups: Option<usize>,
    /// A flag that selects a transposed convolution.
    pub transposed: Option<usize>,
    /// Whether it is always transposed.
    #[serde(default)]
    pub is_transposed: bool,
    /// Gradient of the result; if set, this is the backward pass.
    pub grad: Option<usize>,
    /// Which gradients are requested: input, weight and bias.
    pub mask: Option<usize>,
}

/// The work of a convolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Done {
    pub flops: f64,
    pub bytes: f64,
}

impl Convolution {
    /// Operations and bytes of one call; `None` if strides, paddings or shapes are not recorded.
    pub fn done(&self, inputs: &Inputs) -> Option<Done> {
        let (input, weight) = (inputs.tensor(self.input)?, inputs.tensor(self.weight)?);
        if input.sizes.len() < 3 || input.sizes.len() != weight.sizes.len() {
            return None;
        }
        let transposed =
            self.is_transposed || self.transposed.is_some_and(|at| inputs.value(at) == Some(1.0));
        // Every element of the result (of the input, if transposed) meets the filters of its group once.
        let filter: f64 = weight.sizes[1..].iter().product();
        let input_bytes = input.elements() * input.element.bytes();
        let weight_bytes = weight.elements() * weight.element.bytes();
        if let Some(grad) = self.grad {
            let grad = inputs.tensor(grad)?;
            let met = if transposed { input.elements() } else { grad.elements() };
            let grad_bytes = grad.elements() * grad.element.bytes();
            let asked = self.mask.and_then(|at| inputs.list(at)).filter(|asked| asked.len() == 3)?;
            // Two convolutions read the gradient: one writes the input's gradient, one the weight's.
            let pass = grad_bytes + input_bytes + weight_bytes;
            let bias = if asked[2] > 0.0 { grad.elements() } else { 0.0 };
            let passes = asked[0] + asked[1];
            return Some(Done { flops: passes * 2.0 * met * filter + bias, bytes: passes * pass });
        }
        let result = self.result(inputs, &input.sizes, &weight.sizes, transposed)?;
        let written: f64 = result.iter().product();
        let met = if transposed { input.elements() } else { written };
        let bias = self.bias.and_then(|at| inputs.tensor(at)).filter(|bias| !bias.sizes.is_empty());
        let bias_bytes = bias.as_ref().map_or(0.0, |bias| bias.elements() * bias.element.bytes());
        Some(Done {
            flops: 2.0 * met * filter + if bias.is_some() { written } else { 0.0 },
            bytes: input_bytes + weight_bytes + bias_bytes + written * input.element.bytes(),
        })
    }

    /// The shape of the result.
    fn result(&self, inputs: &Inputs, input: &[f64], weight: &[f64], transposed: bool) -> Option<Vec<f64>> {
        let axes = input.len() - 2;
        // A single number applies to every axis; an argument that the op does not have gets its minimum.
        let along = |at: Option<usize>, least: f64| -> Option<Vec<f64>> {
            let Some(at) = at else { return Some(vec![least; axes]) };
            let list = inputs.list(at)?;
            match list.len() {
                1 => Some(vec![list[0]; axes]),
                n if n == axes => Some(list),
                _ => None,
            }
        };
        let (stride, padding) = (along(self.stride, 1.0)?, along(self.padding, 0.0)?);
        let (dilation, more) = (along(self.dilation, 1.0)?, along(self.output_padding, 0.0)?);
        // The second dimension of a weight is per group.
        let channels = match transposed {
            false => weight[0],
            true => weight[1] * inputs.value(self.groups?)?,
        };
        let mut result = vec![input[0], channels];
        for axis in 0..axes {
            let (size, kernel) = (input[axis + 2], weight[axis + 2]);
            let reach = dilation[axis] * (kernel - 1.0) + 1.0;
            let length = match transposed {
                false if stride[axis] > 0.0 => {
                    ((size + 2.0 * padding[axis] - reach) / stride[axis]).floor() + 1.0
                }
                false => return None,
                true => (size - 1.0) * stride[axis] - 2.0 * padding[axis] + reach + more[axis],
            };
            if length < 1.0 {
                return None;
            }
            result.push(length);
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensors(dims: &str, values: &str) -> Inputs {
        let count = serde_json::from_str::<Vec<serde_json::Value>>(dims).unwrap().len();
        Inputs::parse(dims, &serde_json::json!(vec!["float"; count]).to_string(), values).unwrap()
    }

    fn forward() -> Convolution {
        Convolution {
            weight: 1,
            bias: Some(2),
            stride: Some(3),
            padding: Some(4),
            dilation: Some(5),
            transposed: Some(6),
            output_padding: Some(7),
            groups: Some(8),
            ..Convolution::default()
        }
    }

    /// Operations and bytes counted element by element, straight from the definition of a convolution.
    fn by_hand(
        input: [usize; 4],
        weight: [usize; 4],
        stride: usize,
        padding: usize,
        dilation: usize,
    ) -> Done {
        let [batch, _, height, width] = input;
        let [out, per_group, kernel_h, kernel_w] = weight;
        let positions = |size: usize, kernel: usize| {
            let reach = dilation * (kernel - 1) + 1;
            (0..size + 2 * padding).step_by(stride).filter(|at| at + reach <= size + 2 * padding).count()
        };
        let written = batch * out * positions(height, kernel_h) * positions(width, kernel_w);
        let mut flops = 0;
        for _ in 0..written {
            flops += 2 * per_group * kernel_h * kernel_w;
        }
        let moved = input.iter().product::<usize>() + weight.iter().product::<usize>() + written;
        Done { flops: flops as f64, bytes: 4.0 * moved as f64 }
    }

    #[test]
    fn forward_is_as_counted_by_hand() {
        for (input, weight, stride, padding, dilation, groups) in [
            ([4, 3, 22, 22], [7, 3, 3, 3], 1, 1, 1, 1),
            ([2, 3, 32, 32], [5, 3, 16, 16], 16, 0, 1, 1),
            ([1, 8, 17, 13], [8, 1, 3, 3], 2, 1, 2, 8),
            ([1, 6, 9, 9], [4, 3, 5, 3], 3, 2, 1, 2),
        ] {
            let dims = serde_json::json!([input, weight, [], [], [], [], [], [], []]).to_string();
            let values = format!(
                r#"["", "", "", "[{stride}, {stride}]", "[{padding}, {padding}]", "[{dilation}, {dilation}]", "False", "[0, 0]", "{groups}"]"#
            );
            let done = forward().done(&tensors(&dims, &values)).unwrap();
            assert_eq!(done, by_hand(input, weight, stride, padding, dilation), "{input:?} {weight:?}");
        }
    }

    #[test]
    fn a_transposed_one_undoes_the_shape_of_a_forward_one() {
        // 11x11 with kernel 3 and stride 2 gives 5x5; transposed, it gives 11x11 with 3 channels.
        let dims = "[[2, 6, 5, 5], [6, 3, 3, 3], [], [], [], [], [], [], []]";
        let values = r#"["", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"]"#;
        let done = forward().done(&tensors(dims, values)).unwrap();
        assert_eq!(done.flops, 2.0 * (2.0 * 6.0 * 25.0) * (3.0 * 9.0));
        assert_eq!(done.bytes, 4.0 * (300.0 + 162.0 + 2.0 * 3.0 * 121.0));
    }

    #[test]
    fn backward_is_one_product_per_gradient() {
        let backward = Convolution {
            grad: Some(0),
            input: 1,
            weight: 2,
            transposed: Some(7),
            mask: Some(10),
            ..Convolution::default()
        };
        let dims = "[[2, 5, 6, 6], [2, 3, 8, 8], [5, 3, 3, 3], [], [], [], [], [], [], [], []]";
        let of = |mask: &str| {
            let values = format!(r#"["", "", "", "", "", "", "", "False", "", "", "{mask}"]"#);
            backward.done(&tensors(dims, &values)).unwrap()
        };
        let (product, pass) = (2.0 * 360.0 * 27.0, 4.0 * (360.0 + 384.0 + 135.0));
        assert_eq!(of("[True, True, False]"), Done { flops: 2.0 * product, bytes: 2.0 * pass });
        assert_eq!(of("[False, True, False]"), Done { flops: product, bytes: pass });
        assert_eq!(of("[True, True, True]").flops, 2.0 * product + 360.0);
    }

    #[test]
    fn what_is_not_recorded_is_not_guessed() {
        let dims = "[[4, 3, 22, 22], [7, 3, 3, 3], [], [], [], [], [], [], []]";
        assert_eq!(forward().done(&tensors(dims, "[]")), None, "neither stride nor padding");
        let short = "[[4, 3], [7, 3], [], [], [], [], [], [], []]";
        let values = r#"["", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1"]"#;
        assert_eq!(forward().done(&tensors(short, values)), None);
    }
}
