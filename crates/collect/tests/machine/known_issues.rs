//! Known issues on simulated machines: each is found where it applies, and nowhere else.

use report::HealthStatus;
use rocm_perf_collect::doctor::{examine, known_issues};

use super::fixture::Fixture;

fn found(fixture: &Fixture) -> Vec<&'static str> {
    known_issues(&fixture.machine()).iter().map(|hit| hit.issue.id.as_str()).collect()
}

fn with_rocm(version: &str) -> Fixture {
    let fixture = Fixture::healthy();
    fixture.write("opt/rocm/.info/version", version);
    fixture
}

#[test]
fn a_release_has_its_own_issues_and_no_others() {
    assert_eq!(found(&Fixture::healthy()), [""; 0]);
    assert_eq!(found(&with_rocm("7.0.1-43\n")), ["streams-missing"]);
    assert_eq!(found(&with_rocm("7.2.0-43\n")), ["graphs-lose-kernels"]);
    assert_eq!(found(&with_rocm("7.2.1-43\n")), ["graphs-lose-kernels", "attach-writes-nothing"]);
    assert_eq!(found(&with_rocm("7.2.2-10\n")), [""; 0]);
    assert_eq!(found(&with_rocm("7.9.0rc20251007\n")), ["rocpd-python-3.12"]);
    assert_eq!(found(&with_rocm("no version\n")), [""; 0], "what is not known fits nothing");
}

#[test]
fn the_sdk_is_told_by_the_name_of_its_library() {
    let fixture = Fixture::healthy();
    fixture
        .write("opt/rocm/lib/librocprofiler-sdk.so.1", "")
        .write("opt/rocm/lib/librocprofiler-sdk.so.1.3.2", "");
    assert_eq!(found(&fixture), ["sdk-hangs-torch"]);
    let fixture = Fixture::healthy();
    fixture.write("opt/rocm/lib/librocprofiler-sdk.so.1.1.0", "");
    assert_eq!(found(&fixture), ["sdk-slows-graphs"]);
}

#[test]
fn many_gpus_are_counted() {
    let fixture = Fixture::healthy();
    fixture.write("opt/rocm/lib/librocprofiler-sdk.so.1.0.0", "");
    assert_eq!(found(&fixture), [""; 0]);
    for node in 4..7 {
        let properties = "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndrm_render_minor 130\n";
        fixture.write(&format!("sys/class/kfd/kfd/topology/nodes/{node}/properties"), properties);
    }
    assert_eq!(found(&fixture), ["many-gpus-hang"]);
}

#[test]
fn the_python_of_another_machine_is_told_by_its_link() {
    let fixture = with_rocm("7.14.2\n");
    assert_eq!(found(&fixture), [""; 0]);
    std::fs::create_dir_all(fixture.root().join("usr/bin")).unwrap();
    std::os::unix::fs::symlink("python3.14", fixture.root().join("usr/bin/python3")).unwrap();
    assert_eq!(found(&fixture), ["rocpd-python-3.14"]);
}

/// A shared library with only its search folders.
fn library(rpath: &str) -> Vec<u8> {
    const HEADERS: u64 = 64 + 2 * 56;
    let strings = HEADERS + 3 * 16;
    let end = strings + 1 + rpath.len() as u64 + 1;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([3u8, 0, 62, 0, 1, 0, 0, 0]);
    file.extend([0u64, 64, 0].into_iter().flat_map(u64::to_le_bytes));
    file.extend([0u8; 4]);
    file.extend([64u16, 56, 2, 0, 0, 0].into_iter().flat_map(u16::to_le_bytes));
    // One segment covers everything, at its own address; the other is the dynamic section.
    const BASE: u64 = 0x1000;
    for (kind, offset, bytes) in [(1u32, 0, end), (2, HEADERS, 48)] {
        file.extend(kind.to_le_bytes());
        file.extend([0u8; 4]);
        file.extend(
            [offset, BASE + offset, BASE + offset, bytes, bytes, 8].into_iter().flat_map(u64::to_le_bytes),
        );
    }
    file.extend([5, BASE + strings, 15, 1, 0, 0].into_iter().flat_map(u64::to_le_bytes));
    file.push(0);
    file.extend(rpath.as_bytes());
    file.push(0);
    file
}

#[test]
fn libraries_that_torch_puts_before_those_of_rocm_are_compared_by_content() {
    const TORCH: &str = "opt/venv/lib/python3.12/site-packages/torch/lib";
    let machine = |rpath: &str, own: &str| {
        let fixture = Fixture::healthy();
        fixture
            .write("opt/rocm/lib/libroctracer64.so.4", "of 7.2.4")
            .write(&format!("{TORCH}/libroctracer64.so.4"), own);
        std::fs::write(fixture.root().join(TORCH).join("libtorch_hip.so"), library(rpath)).unwrap();
        fixture
    };
    assert_eq!(found(&machine("$ORIGIN", "of 7.2.4")), [""; 0], "the same library");
    assert_eq!(found(&machine("/opt/rocm/lib", "of 7.2.0")), [""; 0], "torch looks elsewhere");
    let shadowed = machine("$ORIGIN:/opt/rocm/lib", "of 7.2.0");
    assert_eq!(found(&shadowed), ["torch-shadows-rocm"]);
    let hits = known_issues(&shadowed.machine());
    assert!(hits[0].found[0].starts_with(&format!("/{TORCH}/libroctracer64.so.4 (sha256 ")), "{hits:?}");
    let checks = examine(&shadowed.machine());
    let check = checks.iter().find(|check| check.id == "known_issues").unwrap();
    assert_eq!(check.status, HealthStatus::Warn);
    // A file that is not a library, or is cut short, has no folders.
    let whole = library("$ORIGIN");
    for cut in [0, 10, 63, 100, 200, whole.len() - 3] {
        std::fs::write(shadowed.root().join(TORCH).join("libtorch_hip.so"), &whole[..cut]).unwrap();
        assert_eq!(found(&shadowed), [""; 0], "cut at {cut}");
    }
}
