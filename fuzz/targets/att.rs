//! The reader of decoded thread traces on any bytes in any of its files: it never panics.
#![no_main]

use ingest::att;
use libfuzzer_sys::fuzz_target;

const CODE: &str = r#"{"code": [["; k.kd", 0, 0, "k", 1, 256, 0, 0, 0, 0],
    ["s_waitcnt vmcnt(0)", 0, 1, "k.cu:4", 1, 268, 2, 900, 892, 4]]}"#;
const FILES: [&str; 4] = ["code.json", "filenames.json", "se0_sm0_sl0_wv0.json", "occupancy.json"];

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let folder = std::env::temp_dir().join(format!("rocm-perf-fuzz-{}", std::process::id()));
    if std::fs::create_dir_all(&folder).is_err() {
        return;
    }
    let path = match FILES.get(usize::from(which % 5)) {
        Some(name) => {
            for other in FILES {
                let _ = std::fs::remove_file(folder.join(other));
            }
            let _ = std::fs::write(folder.join("code.json"), CODE);
            let _ = std::fs::write(folder.join(name), bytes);
            folder
        }
        None => {
            let path = folder.join("stats_ui_output_agent_2_dispatch_1.csv");
            let _ = std::fs::write(&path, bytes);
            path
        }
    };
    let _ = (att::find(&path), att::read(&path));
});
