//! The doctor on a healthy machine and on five broken ones.

use report::HealthStatus;
use report::render::{TerminalOptions, terminal};
use rocm_perf_collect::doctor::{Check, Machine, examine, report as report_of};
use stand_in_rocm::StandIns;

use super::fixture::Fixture;

fn shown(machine: &Machine) -> String {
    terminal(&report_of(&examine(machine)), &TerminalOptions { width: 80, ..Default::default() })
}

fn status(checks: &[Check], id: &str) -> HealthStatus {
    checks.iter().find(|check| check.id == id).unwrap().status
}

fn failed(machine: &Machine) -> Vec<&'static str> {
    examine(machine).iter().filter(|check| check.status == HealthStatus::Fail).map(|check| check.id).collect()
}

fn with_variables(mut machine: Machine, variables: &[(&str, &str)]) -> Machine {
    machine.environment.extend(variables.iter().map(|(k, v)| (k.to_string(), v.to_string())));
    machine
}

#[test]
fn a_healthy_machine_passes() {
    let fixture = Fixture::healthy();
    let machine = fixture.machine();
    assert_eq!(failed(&machine), [""; 0]);
    insta::assert_snapshot!("healthy", shown(&machine));
}

#[test]
fn without_a_driver_there_is_nothing_to_profile() {
    let fixture = Fixture::healthy();
    fixture.remove("sys/class/kfd").remove("sys/module").remove("dev");
    let machine = fixture.machine();
    assert_eq!(failed(&machine), ["driver", "gpus", "kfd", "render"]);
    insta::assert_snapshot!("no_driver", shown(&machine));
}

#[test]
fn a_user_outside_the_group_may_not_open_the_devices() {
    let fixture = Fixture::healthy();
    fixture.device("dev/kfd", 0o600).device("dev/dri/renderD129", 0o600);
    let machine = fixture.machine();
    assert_eq!(failed(&machine), ["kfd", "render"]);
    insta::assert_snapshot!("no_permission", shown(&machine));
    // Root can open the same devices.
    let mut root = fixture.machine();
    root.identity.uid = 0;
    assert_eq!(failed(&root), [""; 0]);
}

#[test]
fn no_profiler_is_a_failure_and_the_older_one_a_warning() {
    let fixture = Fixture::healthy();
    fixture.remove("opt/rocm");
    let machine = with_variables(fixture.machine(), &[("HIP_VISIBLE_DEVICES", "0,7")]);
    assert_eq!(failed(&machine), ["profiler", "visibility"]);
    insta::assert_snapshot!("no_profiler", shown(&machine));
    fixture.script("rocprof", "exit 0");
    assert_eq!(status(&examine(&fixture.machine()), "profiler"), HealthStatus::Warn);
    fixture.script("rocprofv3", "exit 1");
    assert_eq!(failed(&fixture.machine()), ["profiler"]);
}

#[test]
fn a_container_that_hides_its_gpus() {
    let fixture = Fixture::healthy();
    for node in [2, 3] {
        fixture.write(&format!("sys/class/kfd/kfd/topology/nodes/{node}/properties"), "");
    }
    fixture.write(".dockerenv", "").write("proc/sys/kernel/perf_event_paranoid", "4");
    fixture.write("proc/self/status", "CapEff:\t00000000a80425fb\nSeccomp:\t2\n");
    fixture.write("proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n");
    let machine = fixture.machine();
    assert_eq!(failed(&machine), ["gpus", "render"]);
    assert_eq!(status(&examine(&machine), "container"), HealthStatus::Warn);
    insta::assert_snapshot!("container", shown(&machine));
}

#[test]
fn an_old_crowded_machine_with_a_full_disk() {
    let fixture = Fixture::healthy();
    fixture.write("opt/rocm/.info/version", "6.2.4").script("rocprofv3", "test \"$1\" = --help");
    fixture
        .script("rocprofv3-avail", "echo 'GPU:0'")
        .remove("opt/rocm/lib")
        .remove("sys/class/drm/renderD128/device/hwmon");
    fixture.remove("sys/class/drm/renderD129/device/hwmon").script("sbatch", "exit 0");
    fixture.write("sys/class/drm/renderD128/device/gpu_busy_percent", "97");
    fixture.write("sys/class/drm/renderD128/device/power_dpm_force_performance_level", "auto");
    let mut machine = with_variables(fixture.machine(), &[("HSA_TOOLS_LIB", "librocprofiler64.so")]);
    machine.free_bytes = Some(100_000_000);
    machine.open_files = 1024;
    machine.kfd_interface = Some((1, 14));
    machine.synchronised = Some(false);
    assert_eq!(failed(&machine), ["output"]);
    insta::assert_snapshot!("crowded", shown(&machine));
}

#[test]
fn programs_are_found_on_the_path_and_asked() {
    let fixture = Fixture::healthy();
    fixture
        .remove("opt/rocm")
        .remove("sys/class/drm/renderD128/device/hwmon")
        .remove("sys/class/drm/renderD129/device/hwmon");
    let stand_ins = StandIns::install().unwrap();
    let mut machine = fixture.machine();
    machine.path = stand_ins.path();
    let checks = examine(&machine);
    for id in ["rocm", "profiler", "features", "counters", "telemetry"] {
        assert_eq!(status(&checks, id), HealthStatus::Pass, "{checks:#?}");
    }
}
