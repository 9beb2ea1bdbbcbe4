//! torch's (Kineto's) Chrome traces: categories of events and argument keys, for reader and writer.

/// Declares names as text, and as bytes for parsers that never make text of them.
macro_rules! names {
    ($($name:ident = $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub const $name: &str = $text;)*

        /// The names as bytes.
        pub mod bytes {
            $(#[doc = concat!("`", $text, "`")] pub const $name: &[u8] = $text.as_bytes();)*
        }
    };
}

/// Categories of events.
pub mod category {
    names! {
        CPU_OP = "cpu_op";
        PYTHON_FUNCTION = "python_function";
        USER_ANNOTATION = "user_annotation";
        CUDA_RUNTIME = "cuda_runtime";
        CUDA_DRIVER = "cuda_driver";
        HIP_RUNTIME = "hip_runtime";
        HIP_DRIVER = "hip_driver";
        KERNEL = "kernel";
        GPU_MEMCPY = "gpu_memcpy";
        GPU_MEMSET = "gpu_memset";
        GPU_USER_ANNOTATION = "gpu_user_annotation";
        CUDA_SYNC = "cuda_sync";
        FWDBWD = "fwdbwd";
        AC2G = "ac2g";
    }
}

/// Keys of arguments.
pub mod key {
    names! {
        EXTERNAL_ID = "External id";
        CORRELATION = "correlation";
        DEVICE = "device";
        DEVICE_ID = "Device Id";
        STREAM = "stream";
        KIND = "kind";
        GRAPH_ID = "graph id";
        GRAPH_NODE_ID = "graph node id";
        GRID = "grid";
        BLOCK = "block";
        SHARED_MEMORY = "shared memory";
        REGISTERS_PER_THREAD = "registers per thread";
        BYTES = "bytes";
        MEMORY_BYTES = "Bytes";
        PYTHON_ID = "Python id";
        PYTHON_PARENT_ID = "Python parent id";
        COLLECTIVE_NAME = "Collective name";
        IN_MSG_NELEMS = "In msg nelems";
        GROUP_SIZE = "Group size";
        DTYPE = "dtype";
        PROCESS_GROUP_NAME = "Process Group Name";
        SEQ = "Seq";
        SRC_RANK = "Src Rank";
        DST_RANK = "Dst Rank";
        ADDR = "Addr";
        DEVICE_TYPE = "Device Type";
        WAIT_ON_STREAM = "wait_on_stream";
        WAIT_ON_CUDA_EVENT_ID = "wait_on_cuda_event_id";
        WAIT_ON_CUDA_EVENT_RECORD_CORR_ID = "wait_on_cuda_event_record_corr_id";
        CUDA_SYNC_KIND = "cuda_sync_kind";
        TOTAL_ALLOCATED = "Total Allocated";
        TOTAL_RESERVED = "Total Reserved";
    }
}
