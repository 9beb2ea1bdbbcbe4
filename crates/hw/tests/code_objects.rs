//! Code objects as compilers and bundlers write them, as programs contain them, and damaged in every way.

use proptest::prelude::*;
use rocm_perf_hw::code_object::{self, CodeObjectError, CodeObjectKernel};
use std::io::Write;

const GFX90A: &[u8] = include_bytes!("fixtures/gfx90a.co");
const GFX942: &[u8] = include_bytes!("fixtures/gfx942.co");
const GFX1100: &[u8] = include_bytes!("fixtures/gfx1100.co");
const ZSTD_2: &[u8] = include_bytes!("fixtures/zstd-2.hipfb");
const ZSTD_3: &[u8] = include_bytes!("fixtures/zstd-3.hipfb");

fn names(kernels: &[CodeObjectKernel]) -> Vec<String> {
    kernels.iter().map(|kernel| format!("{} {}", kernel.target, kernel.name)).collect()
}

/// A bundle as clang writes it.
fn bundle(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend((parts.len() as u64).to_le_bytes());
    let table: usize = parts.iter().map(|(id, _)| 24 + id.len()).sum();
    let mut at = (bytes.len() + table).next_multiple_of(4096);
    let mut body = Vec::new();
    let start = at;
    for (id, part) in parts {
        for number in [at, part.len(), id.len()] {
            bytes.extend((number as u64).to_le_bytes());
        }
        bytes.extend(id.as_bytes());
        body.extend_from_slice(part);
        at += part.len();
    }
    bytes.resize(start, 0);
    bytes.extend(body);
    bytes
}

fn two() -> Vec<u8> {
    bundle(&[
        ("host-x86_64-unknown-linux-gnu-", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a", GFX90A),
        ("hipv4-amdgcn-amd-amdhsa--gfx942", GFX942),
    ])
}

/// A compressed bundle of version 1, which encodes zlib only by number and does not record its length.
fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut bytes = b"CCOB\x01\x00\x00\x00".to_vec();
    bytes.extend((plain.len() as u32).to_le_bytes());
    bytes.extend([0; 8]);
    let mut encoder = flate2::write::ZlibEncoder::new(bytes, flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A program for x86-64 with one section besides the section-name table.
fn program(section: &[u8], name: &[u8]) -> Vec<u8> {
    let names = [b"\0.shstrtab\0".as_slice(), name, b"\0"].concat();
    let data_at = 64usize;
    let names_at = data_at + section.len();
    let headers_at = (names_at + names.len()).next_multiple_of(8);
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    bytes.extend([0; 16]);
    bytes.extend((headers_at as u64).to_le_bytes());
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 0, 0, 64, 0, 3, 0, 1, 0]);
    bytes.extend_from_slice(section);
    bytes.extend_from_slice(&names);
    bytes.resize(headers_at + 64, 0);
    for (name_at, kind, at, size) in [(1u32, 3u32, names_at, names.len()), (11, 1, data_at, section.len())] {
        bytes.extend(name_at.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend([0; 16]);
        bytes.extend((at as u64).to_le_bytes());
        bytes.extend((size as u64).to_le_bytes());
        bytes.extend([0; 24]);
    }
    bytes
}

#[test]
fn a_code_object_tells_what_its_kernels_use() {
    let kernels = code_object::read(GFX942).unwrap();
    assert_eq!(names(&kernels), ["gfx942 tile", "gfx942 copy", "gfx942 matrix"]);
    let [tile, copy, matrix] = kernels.as_slice() else { panic!() };
    assert_eq!((tile.vgpr, tile.agpr, tile.sgpr, tile.lds_bytes), (100, 0, 14, 16384));
    assert_eq!((tile.wave_size, tile.workgroup(), tile.kernarg_bytes), (64, Some(256), 20));
    assert_eq!(
        (tile.vgpr_spills, tile.sgpr_spills, tile.scratch_bytes, tile.dynamic_stack),
        (Some(0), Some(0), 0, false)
    );
    let arguments: Vec<(u32, u32, &str)> =
        tile.arguments.iter().map(|a| (a.offset, a.size, a.kind.as_str())).collect();
    assert_eq!(arguments, [(0, 8, "global_buffer"), (8, 8, "global_buffer"), (16, 4, "by_value")]);
    assert_eq!((copy.required_workgroup, copy.max_workgroup), (None, Some(512)));
    assert_eq!((matrix.vgpr, matrix.agpr), (132, 32), "131 rounded up to four, and 32 of the total of 164");

    let rdna = code_object::read(GFX1100).unwrap();
    assert_eq!((rdna[0].wave_size, rdna[0].cu_mode, rdna[0].vgpr), (32, false, 100));
}

#[test]
fn the_descriptor_is_used_where_metadata_is_missing() {
    let mut bytes = GFX942.to_vec();
    let note = bytes.windows(7).position(|window| window == b"AMDGPU\0").unwrap();
    bytes[note] = b'X';
    let kernels = code_object::read(&bytes).unwrap();
    assert_eq!(names(&kernels), ["gfx942 copy", "gfx942 matrix", "gfx942 tile"]);
    let tile = &kernels[2];
    assert!(!tile.exact);
    // The compiler requests as many scalar registers as do not cost a wave: 112 at four waves.
    assert_eq!((tile.vgpr + tile.agpr, tile.sgpr, tile.lds_bytes, tile.wave_size), (104, 112, 16384, 64));
    let matrix = &kernels[1];
    assert_eq!((matrix.vgpr, matrix.agpr), (132, 36), "the total rounded up to eight");
}

#[test]
fn bundles_hold_one_code_object_per_architecture() {
    let expected = names(&[code_object::read(GFX90A).unwrap(), code_object::read(GFX942).unwrap()].concat());
    assert_eq!(expected.len(), 6);
    let plain = two();
    for bytes in [plain.as_slice(), ZSTD_2, ZSTD_3, zlib(&plain).as_slice()] {
        let contents = code_object::contents(bytes).unwrap();
        assert_eq!(names(&contents.kernels), expected);
        assert_eq!((contents.code_objects, contents.problems.len()), (2, 0));
    }
}

#[test]
fn programs_and_archives_carry_bundles() {
    // One bundle per translation unit, each starting on a new page; compressed and plain ones mixed.
    let mut section = Vec::new();
    for bundle in [two(), ZSTD_2.to_vec(), zlib(&two()), ZSTD_3.to_vec()] {
        section.extend(bundle);
        section.resize(section.len().next_multiple_of(4096), 0);
    }
    let program_bytes = program(&section, b".hip_fatbin");
    let contents = code_object::contents(&program_bytes).unwrap();
    assert_eq!(contents.problems, [""; 0]);
    assert_eq!((contents.code_objects, contents.kernels.len()), (8, 24));

    let mut archive = b"!<arch>\n".to_vec();
    for member in [program_bytes.as_slice(), b"text", GFX1100] {
        archive.extend(
            format!("{:16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "m.o/", 0, 0, 0, 644, member.len()).bytes(),
        );
        archive.extend_from_slice(member);
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    assert_eq!(code_object::read(&archive).unwrap().len(), 24 + 2);

    let without = program(b"data", b".data");
    assert_eq!(code_object::read(&without), Err(CodeObjectError::NoGpuCode));
}

#[test]
fn a_damaged_part_does_not_cost_the_others() {
    let cut = &GFX942[..GFX942.len() / 2];
    let bytes =
        bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx942", cut), ("hipv4-amdgcn-amd-amdhsa--gfx90a", GFX90A)]);
    let contents = code_object::contents(&bytes).unwrap();
    assert!(names(&contents.kernels).contains(&"gfx90a tile".to_owned()));
    assert!(!contents.problems.is_empty());

    let short = &two()[..two().len() - 100];
    let contents = code_object::contents(short).unwrap();
    assert_eq!(contents.code_objects, 1);
    assert_eq!(contents.problems, ["the bundle ends before its code object for gfx942"]);

    // False sizes are rejected.
    let says = |size: u64| {
        let mut bytes = ZSTD_3.to_vec();
        bytes[16..24].copy_from_slice(&size.to_le_bytes());
        match code_object::read(&bytes) {
            Err(CodeObjectError::Damaged(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let holds = u64::from_le_bytes(ZSTD_3[16..24].try_into().unwrap());
    assert_eq!(says(holds + 1), "a compressed bundle that is shorter than its header says");
    assert!(says(u64::MAX).ends_with("not plausible"), "{}", says(u64::MAX));
}

#[test]
fn a_bundle_within_itself_comes_to_an_end() {
    let mut bytes = GFX942.to_vec();
    for _ in 0..10 {
        bytes = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx942", &bytes)]);
    }
    assert_eq!(
        code_object::read(&bytes),
        Err(CodeObjectError::Damaged("bundles are nested too deeply".into()))
    );
}

fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let files = [
        GFX90A.to_vec(),
        GFX1100.to_vec(),
        two(),
        ZSTD_2.to_vec(),
        ZSTD_3.to_vec(),
        program(&two(), b".hip_fatbin"),
    ];
    proptest::sample::select(files.to_vec())
}

proptest! {
    #[test]
    fn cuts_and_flips_never_panic(
        mut bytes in any_file(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..24),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        for kernel in code_object::read(&bytes).unwrap_or_default() {
            if let Some(arch) = kernel.arch() {
                let _ = rocm_perf_hw::occupancy::theoretical(arch, &kernel.resources(kernel.workgroup().unwrap_or(256), 0));
            }
        }
    }

    #[test]
    fn damage_in_the_metadata_never_panics(at in 0usize..3000, value in any::<u8>()) {
        let mut bytes = GFX942.to_vec();
        let notes = bytes.windows(7).position(|window| window == b"AMDGPU\0").unwrap();
        let at = (notes + at).min(bytes.len() - 1);
        bytes[at] = value;
        let _ = code_object::contents(&bytes);
    }
}
