//! Kernels of code objects: registers from the compiler, workgroups from the source's bounds or the user.

use hw::code_object::{CodeObjectKernel, Contents};
use report::{Finding, InputFact, Severity, Value};

use super::{CODE_OBJECT, KernelUse, OccupancyOptions};
use model::names;

pub(super) fn kernels(
    contents: &Contents,
    options: &OccupancyOptions,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<KernelUse> {
    let of_arch = |kernel: &&CodeObjectKernel| {
        options.arch.is_none_or(|arch| kernel.arch().is_some_and(|found| found.name == arch.name))
    };
    let named = |kernel: &&CodeObjectKernel| wanted(&kernel.name) || wanted(&names::demangle(&kernel.name));
    contents.kernels.iter().filter(of_arch).filter(named).map(|kernel| kernel_use(kernel, options)).collect()
}

fn kernel_use(kernel: &CodeObjectKernel, options: &OccupancyOptions) -> KernelUse {
    let required = kernel.required_workgroup.is_some();
    let workgroup = if required { kernel.workgroup() } else { options.workgroup.or(kernel.workgroup()) };
    KernelUse {
        name: kernel.name.clone(),
        arch_name: hw::arch::base_name(&kernel.target).to_owned(),
        vgpr: Some(kernel.vgpr),
        agpr: Some(kernel.agpr),
        sgpr: Some(kernel.sgpr),
        lds_bytes: Some(kernel.lds_bytes.saturating_add(options.dynamic_lds)),
        workgroup,
        wave_size: Some(kernel.wave_size).filter(|&size| size > 0),
        cu_mode: kernel.cu_mode,
        scratch_bytes: Some(kernel.scratch_bytes),
        spills: kernel.vgpr_spills,
        registers_from: if kernel.exact { "metadata" } else { "descriptor, rounded up" },
        lds_from: CODE_OBJECT,
        scratch_from: CODE_OBJECT,
        ..KernelUse::default()
    }
}

/// Kernels that spill because they were compiled for larger workgroups than most launches have.
pub(super) fn findings(files: &[(InputFact, Contents)]) -> Vec<Finding> {
    let spilling = |kernel: &&CodeObjectKernel| {
        let largest = kernel.arch().map(|arch| arch.facts.max_workgroup);
        kernel.vgpr_spills.unwrap_or(0) > 0
            && kernel.required_workgroup.is_none()
            && kernel.max_workgroup == largest
    };
    let finding = |kernel: &CodeObjectKernel| {
        let spills = kernel.vgpr_spills.unwrap_or(0);
        let most = kernel.max_workgroup.unwrap_or(0);
        Finding {
            id: "spills-for-large-workgroups".into(),
            severity: Severity::Medium,
            title: format!("{} spills {spills} registers", names::display_name(&kernel.name)),
            evidence: vec![
                ("kernel".into(), Value::from(kernel.name.as_str())),
                ("spilled_registers".into(), Value::Int(spills.into())),
                ("max_workgroup".into(), Value::Int(most.into())),
                ("vgpr".into(), Value::Int(kernel.vgpr.into())),
            ],
            gain_ceiling_ns: None,
            recommendation: format!(
                "it was compiled for workgroups of up to {most} threads, which leaves few registers for each; say \
                 what it is launched with: __launch_bounds__(256)"
            ),
            ..Finding::default()
        }
    };
    files.iter().flat_map(|(_, contents)| &contents.kernels).filter(spilling).map(finding).collect()
}
