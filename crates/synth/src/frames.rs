//! Leaf frames of Python programs that use torch, as Kineto names them.

/// Taken in turn; long and short ones mixed as in real traces.
pub(crate) const LEAVES: [&str; 24] = [
    "torch/nn/modules/module.py(1940): __getattr__",
    "<built-in method get of dict object at 0x7f2e4c1b0e40>",
    "<built-in function isinstance>",
    "<built-in function len>",
    "/sgl-workspace/sglang/python/sglang/srt/model_executor/forward_batch_info.py(311): is_extend_or_draft_extend",
    "<built-in method type_as of Tensor object at 0x7f2df41c3a10>",
    "<built-in function getattr>",
    "<built-in method size of Tensor object at 0x7f2df41c3ab0>",
    "torch/_jit_internal.py(1133): is_scripting",
    "<built-in function hasattr>",
    "<built-in method append of list object at 0x7f2df4a8d2c0>",
    "torch/_ops.py(1243): __call__",
    "enum.py(201): __get__",
    "<built-in method view of Tensor object at 0x7f2df41c3b50>",
    "<built-in method __contains__ of dict object at 0x7f2e4c1b0ec0>",
    "<built-in method numel of Tensor object at 0x7f2df41c3bf0>",
    "typing.py(2366): cast",
    "<built-in function issubclass>",
    "<built-in method __exit__ of torch._C.DisableTorchFunctionSubclass object at 0x7f2df4>",
    "<built-in function id>",
    "<frozen os>(709): __getitem__",
    "<built-in method split of Tensor object at 0x7f2df41c3c90>",
    "<built-in method contiguous of Tensor object at 0x7f2df41c3d30>",
    "<built-in function next>",
];
