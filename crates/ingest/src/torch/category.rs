//! What the categories and API names of Kineto mean to the reader.

use formats::torch::category::bytes as category;

/// A category that is handled in its own way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Category {
    /// Any other: a host interval.
    #[default]
    Other,
    Kernel,
    Copy,
    Fill,
    /// A call of the HIP or CUDA runtime or driver.
    Call,
    Op,
    Frame,
    /// An interval on a GPU lane that is not work itself.
    GpuAnnotation,
    Sync,
}

const KNOWN: &[(&[u8], Category)] = &[
    (category::CPU_OP, Category::Op),
    (category::PYTHON_FUNCTION, Category::Frame),
    (category::CUDA_RUNTIME, Category::Call),
    (category::KERNEL, Category::Kernel),
    (category::GPU_MEMCPY, Category::Copy),
    (category::GPU_MEMSET, Category::Fill),
    (category::CUDA_DRIVER, Category::Call),
    (category::HIP_RUNTIME, Category::Call),
    (category::HIP_DRIVER, Category::Call),
    (category::GPU_USER_ANNOTATION, Category::GpuAnnotation),
    (category::CUDA_SYNC, Category::Sync),
];

impl Category {
    /// Number of categories.
    pub const COUNT: usize = Category::Sync as usize + 1;

    pub fn of(name: &[u8]) -> Self {
        KNOWN.iter().find(|(known, _)| *known == name).map_or(Category::Other, |(_, category)| *category)
    }

    /// Whether its events are on a lane (device, stream) rather than (process, thread).
    pub fn on_gpu(self) -> bool {
        use Category::*;
        matches!(self, Kernel | Copy | Fill | GpuAnnotation | Sync)
    }
}

/// What a runtime call does, as far as the reader needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Other,
    Launch,
    BeginCapture,
    Sync,
}

/// Calls that record, await or synchronise, without their prefix `hip`, `cuda` or `cu`.
const SYNCS: &[&[u8]] = &[
    b"EventRecord",
    b"EventRecordWithFlags",
    b"EventSynchronize",
    b"EventQuery",
    b"StreamWaitEvent",
    b"StreamSynchronize",
    b"StreamQuery",
    b"DeviceSynchronize",
    b"CtxSynchronize",
];

impl CallKind {
    pub fn of(name: &[u8]) -> Self {
        let bare = [&b"hip"[..], b"cuda", b"cu"].iter().find_map(|p| name.strip_prefix(*p)).unwrap_or(name);
        let has = |part: &[u8]| memchr::memmem::find(bare, part).is_some();
        if bare.starts_with(b"StreamBeginCapture") {
            CallKind::BeginCapture
        } else if has(b"Launch") && !has(b"GraphLaunch") && !has(b"HostFunc") {
            CallKind::Launch
        } else if SYNCS.iter().any(|sync| bare.strip_suffix(b"_spt").unwrap_or(bare) == *sync) {
            CallKind::Sync
        } else {
            CallKind::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_name() {
        let cases: [(&[u8], CallKind); 9] = [
            (b"hipLaunchKernel", CallKind::Launch),
            (b"hipExtModuleLaunchKernel", CallKind::Launch),
            (b"cuLaunchKernelEx", CallKind::Launch),
            (b"hipGraphLaunch", CallKind::Other),
            (b"cudaStreamBeginCapture", CallKind::BeginCapture),
            (b"hipStreamBeginCapture_v2", CallKind::BeginCapture),
            (b"cudaEventRecordWithFlags", CallKind::Sync),
            (b"hipStreamWaitEvent", CallKind::Sync),
            (b"hipMemcpyAsync", CallKind::Other),
        ];
        for (name, kind) in cases {
            assert_eq!(CallKind::of(name), kind, "{}", String::from_utf8_lossy(name));
        }
    }
}
