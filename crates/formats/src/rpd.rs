//! `.rpd`: the names of the tables of rocmProfileData, which share only their prefix with rocpd's.

/// Names of the tables.
pub mod table {
    /// Facts about the file.
    pub const METADATA: &str = "rocpd_metadata";
    /// Shared texts.
    pub const STRING: &str = "rocpd_string";
    /// Unique texts (schema 3).
    pub const USTRING: &str = "rocpd_ustring";
    /// Calls and markers.
    pub const API: &str = "rocpd_api";
    /// HSA calls (old files).
    pub const HSA_API: &str = "rocpd_hsaApi";
    /// GPU work.
    pub const OP: &str = "rocpd_op";
    /// Which call started which work.
    pub const API_OPS: &str = "rocpd_api_ops";
    /// Launches of kernels.
    pub const KERNEL_API: &str = "rocpd_kernelapi";
    /// Copies.
    pub const COPY_API: &str = "rocpd_copyapi";
    /// Samples of the devices.
    pub const MONITOR: &str = "rocpd_monitor";
    /// Counter values.
    pub const COUNTER: &str = "rocpd_counter";
}

/// The call name under which the text of a user's marker is stored as an argument.
pub const MARKER: &str = "UserMarker";

/// Launches whose grid is in work-items; others take workgroups. roctracer stores the argument unchanged.
pub const IN_WORK_ITEMS: [&str; 2] = ["hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"];
