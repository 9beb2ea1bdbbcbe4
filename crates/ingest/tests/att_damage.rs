//! Damaged thread traces: never a panic, and nothing lost silently.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rocm_perf_ingest::att;
use trace::{Status, ThreadTrace};

/// The files of a small trace: one kernel, two waves.
const FILES: [(&str, &str); 5] = [
    (
        "code.json",
        r#"{"code": [["; k.kd", 0, 0, "k(float*)", 1, 256, 0, 0, 0, 0],
            ["global_load_dword v1, v0, s[0:1]", 0, 1, "k.cu:3", 1, 260, 2, 16, 8, 0],
            ["s_waitcnt vmcnt(0)", 0, 2, "k.cu:4", 1, 268, 2, 900, 892, 4]], "version": "3.0.0", "header": "x"}"#,
    ),
    (
        "filenames.json",
        r#"{"wave_filenames": {"0": {"0": {"0": {"0": ["se0_sm0_sl0_wv0.json", 0, 500]}}}}, "gfxv": "vega",
            "gfxip": "942", "counter_names": [], "version": "3.0.0", "global_begin_time": 0}"#,
    ),
    (
        "se0_sm0_sl0_wv0.json",
        r#"{"name": "w", "duration": 500, "num_insts": 2, "num_stitched": 2, "wave": {"cu": 1, "id": 0, "simd": 0,
            "slot": 0, "begin": 0, "end": 500, "instructions": [[0, 3, 4, 8, 1], [10, 9, 446, 450, 2]],
            "timeline": [[2, 8], [1, 2], [3, 450]], "waitcnt": [[2, [[1, 0]]]]}}"#,
    ),
    (
        "occupancy.json",
        r#"{"0": [[0, 1, 0, 0, 1, 1], [10, 1, 1, 0, 1, 1], [500, 1, 0, 0, 0, 1], [510, 1, 1, 0, 0, 1]],
            "dispatches": {"1": "k"}, "version": "3.0.0"}"#,
    ),
    (
        STATISTICS,
        "\"CodeObj\",\"Vaddr\",\"Instruction\",\"Hitcount\",\"Latency\",\"Stall\",\"Idle\",\"Source\"\n\
         1,256,\"; k.kd\",0,0,0,0,\"k(float*)\"\n\
         1,260,\"global_load_dword v1, v0, s[0:1]\",2,16,8,0,\"k.cu:3\"\n\
         1,268,\"s_waitcnt vmcnt(0)\",2,900,892,4,\"k.cu:4\"\n",
    ),
];
const STATISTICS: &str = "stats_ui_output_agent_2_dispatch_1.csv";

struct Sample {
    folder: tempfile::TempDir,
}

impl Sample {
    fn new() -> Self {
        let sample = Sample { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(sample.whole()).unwrap();
        FILES.iter().for_each(|(name, text)| sample.put(name, text.as_bytes()));
        sample
    }

    fn whole(&self) -> PathBuf {
        self.folder.path().join("ui_output_agent_2_dispatch_1")
    }

    /// The file, and what is read when it changes: itself if it stands alone, else its folder.
    fn place(&self, name: &str) -> (PathBuf, PathBuf) {
        if name == STATISTICS {
            let path = self.folder.path().join(name);
            return (path.clone(), path);
        }
        (self.whole().join(name), self.whole())
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.place(name).0, bytes).unwrap();
    }

    /// What is read with one damaged file, which is restored afterwards.
    fn with(&self, name: &str, bytes: &[u8]) -> Result<ThreadTrace, String> {
        self.put(name, bytes);
        let read = att::read(&self.place(name).1).map_err(|error| error.to_string());
        let whole = FILES.iter().find(|(file, _)| *file == name).unwrap().1;
        self.put(name, whole.as_bytes());
        read
    }
}

fn complaints(trace: &ThreadTrace) -> usize {
    trace.health.checks.iter().filter(|check| check.status != Status::Pass).count()
}

/// The size of a trace.
fn amount(trace: &ThreadTrace) -> [usize; 6] {
    let of_waves = |count: fn(&trace::TracedWave) -> usize| trace.waves.iter().map(count).sum::<usize>();
    [
        trace.code.len() + trace.kernels.len(),
        trace.waves.len(),
        of_waves(|wave| wave.instructions.len()),
        of_waves(|wave| wave.timeline.len()),
        of_waves(|wave| wave.waits.len()),
        trace.occupancy.len(),
    ]
}

#[test]
fn the_whole_sample_is_read() {
    let sample = Sample::new();
    let trace = att::read(&sample.whole()).unwrap();
    assert_eq!(amount(&trace), [3, 1, 2, 3, 1, 4]);
    assert_eq!((trace.agent, trace.dispatch, trace.gfx.as_str()), (Some(2), Some(1), "942"));
    assert_eq!(complaints(&trace), 0, "{:?}", trace.health);
    let statistics = att::read(&sample.place(STATISTICS).1).unwrap();
    assert_eq!((statistics.code, statistics.kernels), {
        let mut code = trace.code;
        code.iter_mut().for_each(|line| line.number = line.number.max(0));
        (code, trace.kernels)
    });
    assert_eq!(att::find(sample.folder.path()), [sample.whole()], "its statistics say the same again");
}

#[test]
fn a_file_that_is_cut_is_an_error_or_a_complaint() {
    let sample = Sample::new();
    for (name, text) in FILES.into_iter().filter(|(name, _)| *name != STATISTICS) {
        for cut in 0..text.len() - 1 {
            match sample.with(name, &text.as_bytes()[..cut]) {
                Ok(trace) => assert!(complaints(&trace) > 0, "{name} cut at {cut}"),
                Err(message) => assert!(message.contains(name), "{message}"),
            }
        }
    }
    // A table cut at the end of a row looks like a shorter one; a table cut inside a row does not.
    let text = FILES[4].1;
    for cut in 0..text.len() {
        let read = sample.with(STATISTICS, &text.as_bytes()[..cut]);
        let rows = text[..cut].lines().count().saturating_sub(1);
        if let Ok(trace) = read {
            let there = trace.code.len() + trace.kernels.len();
            assert!(there == rows || complaints(&trace) > 0, "cut at {cut}: {there} of {rows}");
        }
    }
}

#[test]
fn what_is_no_number_or_beyond_all_reason_is_counted() {
    let sample = Sample::new();
    let cases = [
        ("code.json", "2, 16, 8, 0]", "2, \"many\", 8, 0]", "lost_rows"),
        ("code.json", "2, 16, 8, 0]", "2, 9223372036854775807, 8, 0]", "lost_rows"),
        ("code.json", "[\"global_load_dword v1, v0, s[0:1]\", 0,", "[17, 0,", "lost_rows"),
        ("se0_sm0_sl0_wv0.json", "[0, 3, 4, 8, 1]", "[0, 3, 4]", "lost_wave_rows"),
        ("se0_sm0_sl0_wv0.json", "[0, 3, 4, 8, 1]", "[0, 300, 4, 8, 1]", "lost_wave_rows"),
        ("se0_sm0_sl0_wv0.json", "[0, 3, 4, 8, 1]", "[-9e18, 3, 4, 8, 1]", "lost_wave_rows"),
        ("se0_sm0_sl0_wv0.json", "[2, [[1, 0]]]", "[2, [[null, 0]]]", "lost_wave_rows"),
        ("se0_sm0_sl0_wv0.json", "\"instructions\"", "\"else\"", "lost_waves"),
        ("occupancy.json", "[10, 1, 1, 0, 1, 1]", "[10, 1]", "lost_occupancy"),
        ("filenames.json", "\"vega\"", "vega", "lost_files"),
        (STATISTICS, "2,16,8,0", "2,16,8", "lost_rows"),
        (STATISTICS, "2,16,8,0", "2,16,99999999999999999999,0", "lost_rows"),
    ];
    for (name, from, to, id) in cases {
        let text = FILES.iter().find(|(file, _)| *file == name).unwrap().1;
        assert!(text.contains(from), "{from} in {name}");
        let trace = sample.with(name, text.replacen(from, to, 1).as_bytes()).unwrap();
        let check = trace.health.checks.iter().find(|check| check.id == id);
        assert!(check.is_some_and(|check| check.value == Some(1.0)), "{to} in {name}: {:?}", trace.health);
    }
    let short = FILES[4].1.replacen(",\"Stall\",\"Idle\"", "", 1);
    let message = sample.with(STATISTICS, short.as_bytes()).unwrap_err();
    assert!(message.contains("no column Stall, Idle"), "{message}");
    let message = sample.with("code.json", b"{\"lines\": []}").unwrap_err();
    assert!(message.contains("it has no list `code`"), "{message}");
    assert!(att::read(Path::new("no-such-folder")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Bytes changed, inserted or removed: the rest is read, or an error names the file.
    #[test]
    fn any_damage_is_survived(
        file in 0..FILES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..8),
    ) {
        let sample = Sample::new();
        let (name, text) = FILES[file];
        let mut bytes = text.as_bytes().to_vec();
        for (place, byte, how) in damage {
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => { bytes.remove(place); }
            }
        }
        match sample.with(name, &bytes) {
            Ok(trace) => {
                let whole = att::read(&sample.place(name).1).unwrap();
                // Damage may add rows, but whatever disappears from a list that still exists was counted.
                let [code, waves, ..] = amount(&trace);
                prop_assert!(waves >= amount(&whole)[1] || complaints(&trace) > 0);
                prop_assert!(code < 1000);
            }
            Err(message) => prop_assert!(message.contains(name), "{}", message),
        }
    }
}
