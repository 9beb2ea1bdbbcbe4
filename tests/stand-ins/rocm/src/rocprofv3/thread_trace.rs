//! Decoded thread traces: for the first dispatch of each kernel, the waves on one compute unit of the chosen
//! shader engines. Workgroups are distributed over the engines and then their compute units, so a small grid
//! leaves the traced one empty.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::messages;
use super::options::Values;
use crate::counters::hash;
use crate::log::{Kernel, Recording};
use crate::machine::{PROCESSORS, Product, part_of};
use crate::settings::{self, fault};

/// Categories of the decoder.
const SMEM: i64 = 1;
const VMEM: i64 = 3;
const VALU: i64 = 6;
const IMMEDIATE: i64 = 9;

/// States of waves.
const STATES: [&str; 5] = ["EMPTY", "IDLE", "EXEC", "WAIT", "STALL"];

/// An instruction: text, category, cycles of idle time before it, of stall and of issue, and lines it waits for.
struct Instruction {
    text: &'static str,
    category: i64,
    idle: i64,
    stall: i64,
    issue: i64,
    awaits: &'static [i64],
}

const fn plain(text: &'static str, category: i64, idle: i64, stall: i64, issue: i64) -> Instruction {
    Instruction { text, category, idle, stall, issue, awaits: &[] }
}

/// The code of every kernel here; it starts at line 1, as line 0 is the kernel's name.
const CODE: [Instruction; 9] = [
    plain("s_load_dwordx4 s[0:3], s[4:5], 0x0", SMEM, 0, 0, 4),
    Instruction { awaits: &[1], ..plain("s_waitcnt lgkmcnt(0)", IMMEDIATE, 0, 120, 4) },
    plain("v_lshl_add_u32 v0, s6, 8, v0", VALU, 8, 0, 4),
    plain("global_load_dword v2, v[0:1], off", VMEM, 0, 12, 4),
    plain("global_load_dword v3, v[4:5], off", VMEM, 0, 20, 4),
    Instruction { awaits: &[4, 5], ..plain("s_waitcnt vmcnt(0)", IMMEDIATE, 0, 600, 4) },
    plain("v_add_f32_e32 v2, v2, v3", VALU, 0, 4, 4),
    plain("global_store_dword v[4:5], v2, off", VMEM, 4, 16, 4),
    plain("s_endpgm", IMMEDIATE, 0, 0, 4),
];

/// Waves that the buffer of a compute unit can hold.
const MOST_WAVES: usize = 64;

/// A wave and where it ran.
struct Wave {
    engine: u64,
    cu: u64,
    simd: u64,
    slot: u64,
    id: usize,
    begin: i64,
    /// Memory cycles in addition to those of the code itself.
    memory: i64,
}

/// One instruction of a wave: first attempt, stall and duration.
struct Issued {
    time: i64,
    stall: i64,
    duration: i64,
}

impl Wave {
    /// What it issued, in the order of the code.
    fn issued(&self) -> Vec<Issued> {
        let mut at = self.begin;
        let issue = |instruction: &Instruction| {
            let more = if instruction.awaits.len() > 1 { self.memory } else { 0 };
            let time = at + instruction.idle;
            let (stall, duration) = (instruction.stall + more, instruction.stall + more + instruction.issue);
            at = time + duration;
            Issued { time, stall, duration }
        };
        CODE.iter().map(issue).collect()
    }

    fn end(&self) -> i64 {
        self.issued().last().map_or(self.begin, |last| last.time + last.duration)
    }

    /// State and cycles, one after the other.
    fn timeline(&self) -> Vec<(usize, i64)> {
        let mut timeline = Vec::new();
        for (instruction, issued) in CODE.iter().zip(self.issued()) {
            let held = if instruction.awaits.is_empty() { 4 } else { 3 };
            let parts = [(1, instruction.idle), (held, issued.stall), (2, instruction.issue)];
            timeline.extend(parts.into_iter().filter(|(_, cycles)| *cycles > 0));
        }
        timeline
    }

    fn file(&self) -> String {
        format!("se{}_sm{}_sl{}_wv{}.json", self.engine, self.simd, self.slot, self.id)
    }

    fn json(&self) -> Value {
        let issued = self.issued();
        let rows = CODE.iter().zip(&issued).enumerate().map(|(line, (instruction, issued))| {
            json!([issued.time, instruction.category, issued.stall, issued.duration, line + 1])
        });
        let waits = CODE.iter().enumerate().filter(|(_, instruction)| !instruction.awaits.is_empty());
        let waits = waits.map(|(line, instruction)| {
            json!([line + 1, instruction.awaits.iter().map(|line| json!([line, 0])).collect::<Vec<_>>()])
        });
        json!({
            "name": format!("SE{} SM{} SL{} WV{}", self.engine, self.simd, self.slot, self.id),
            "duration": self.end() - self.begin,
            "num_insts": issued.len(),
            "num_stitched": issued.len(),
            "wave": {
                "cu": self.cu, "id": self.id, "simd": self.simd, "slot": self.slot,
                "begin": self.begin, "end": self.end(),
                "instructions": rows.collect::<Vec<_>>(),
                "timeline": self.timeline(),
                "waitcnt": waits.collect::<Vec<_>>(),
            },
        })
    }
}

/// Writes a folder and statistics next to `prefix` for the first dispatch of every kernel.
pub(super) fn write(
    prefix: &Path,
    recording: &Recording,
    values: &Values,
    name: &dyn Fn(&str) -> String,
) -> io::Result<()> {
    let part = part_of(&settings::arch());
    let mut seen = HashSet::new();
    for kernel in recording.kernels.iter().filter(|kernel| seen.insert(kernel.symbol.as_str())) {
        one(prefix, kernel, &part, values, &name(&kernel.symbol))?;
    }
    if fault("att_data_lost") {
        let lost = "Data Lost: The profiler dropped part of the trace due to bandwidth limitations.";
        messages::library('W', "att_decoder.cpp:101", lost);
    }
    Ok(())
}

fn one(prefix: &Path, kernel: &Kernel, part: &Product, values: &Values, name: &str) -> io::Result<()> {
    let number = |key: &str| {
        let value = values.get(key)?;
        let text = value.as_str().map(String::from).unwrap_or_else(|| value.to_string());
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    let cu = number("att_target_cu").unwrap_or(1);
    let engines = number("att_shader_engine_mask").unwrap_or(1);
    let everywhere = waves(kernel, part, engines);
    let mut traced: Vec<&Wave> = everywhere.iter().filter(|wave| wave.cu == cu).take(MOST_WAVES).collect();
    if fault("att_empty") {
        traced.clear();
    }
    if fault("att_data_lost") {
        traced.truncate(traced.len().div_ceil(2));
    }
    let title = format!("ui_output_agent_{}_dispatch_{}", PROCESSORS + kernel.device, kernel.dispatch);
    let home = prefix.parent().unwrap_or(Path::new("."));
    let folder = home.join(&title);
    std::fs::create_dir_all(&folder)?;
    let put = |file: &str, value: Value| std::fs::write(folder.join(file), value.to_string());
    let code = code(kernel, name, &traced);
    std::fs::write(home.join(format!("stats_{title}.csv")), statistics(&code))?;
    put(
        "code.json",
        json!({ "code": code, "version": "3.0.0",
        "header": "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle" }),
    )?;
    put("filenames.json", filenames(&traced, part))?;
    for wave in &traced {
        put(&wave.file(), wave.json())?;
    }
    put("occupancy.json", occupancy(&everywhere, name))?;
    for (state, name) in STATES.iter().enumerate() {
        put(&format!("wstates{state}.json"), in_state(&traced, state, name))?;
    }
    // The trace as the hardware wrote it, which only the decoder can read.
    let pid = prefix.file_name().unwrap_or_default().to_string_lossy();
    std::fs::write(home.join(format!("{pid}_shader_engine_0_{}.att", kernel.dispatch)), [0x11; 64])
}

/// All waves of a dispatch on the engines of a mask.
fn waves(kernel: &Kernel, part: &Product, mask: u64) -> Vec<Wave> {
    let groups: u64 =
        kernel.grid.iter().zip(kernel.workgroup).map(|(g, w)| u64::from(g.div_ceil(w.max(1)))).product();
    let items: u64 = kernel.workgroup.iter().map(|w| u64::from(*w)).product();
    let (engines, simds) = (u64::from(part.engines), u64::from(part.simds));
    let units = u64::from(part.units) / engines;
    let mut waves = Vec::new();
    for group in (0..groups).filter(|group| group % engines < 64 && mask >> (group % engines) & 1 == 1) {
        let turn = group / engines;
        for n in 0..items.div_ceil(u64::from(part.wave_size)) {
            let number = turn / units * items.div_ceil(u64::from(part.wave_size)) + n;
            waves.push(Wave {
                engine: group % engines,
                cu: turn % units,
                simd: n % simds,
                slot: number / simds % u64::from(part.waves),
                id: waves.len(),
                begin: 1000 + 40 * turn as i64 + 4 * n as i64,
                memory: (hash(&(&kernel.symbol, group, n)) % 200) as i64,
            });
        }
    }
    waves
}

/// Rows `[isa, 0, line, source, code object, address, hits, latency, stall, idle]`, the kernel's name first.
fn code(kernel: &Kernel, name: &str, traced: &[&Wave]) -> Vec<Value> {
    let mut rows = vec![json!([format!("; {}", kernel.symbol), 0, 0, name, 1, 0x1900, 0, 0, 0, 0])];
    let mut totals: BTreeMap<usize, [i64; 4]> = BTreeMap::new();
    for wave in traced {
        for (line, issued) in wave.issued().iter().enumerate() {
            let total = totals.entry(line).or_default();
            let more = [1, issued.duration, issued.stall, CODE[line].idle];
            total.iter_mut().zip(more).for_each(|(total, more)| *total += more);
        }
    }
    for (line, instruction) in CODE.iter().enumerate() {
        let [hits, latency, stall, idle] = totals.get(&line).copied().unwrap_or_default();
        let source = format!("kernel.cu:{}", 8 + line / 3);
        let address = 0x1900 + 8 * line;
        rows.push(json!([instruction.text, 0, line + 1, source, 1, address, hits, latency, stall, idle]));
    }
    rows
}

fn statistics(code: &[Value]) -> String {
    let mut text =
        "\"CodeObj\",\"Vaddr\",\"Instruction\",\"Hitcount\",\"Latency\",\"Stall\",\"Idle\",\"Source\"\n"
            .to_string();
    for row in code {
        let word = |at: usize| row[at].as_str().unwrap_or_default().replace('"', "\"\"");
        text += &format!(
            "{},{},\"{}\",{},{},{},{},\"{}\"\n",
            row[4],
            row[5],
            word(0),
            row[6],
            row[7],
            row[8],
            row[9],
            word(3)
        );
    }
    text
}

fn filenames(traced: &[&Wave], part: &Product) -> Value {
    let mut files = json!({});
    for wave in traced {
        let [engine, simd, slot, id] =
            [wave.engine, wave.simd, wave.slot, wave.id as u64].map(|number| number.to_string());
        files[engine][simd][slot][id] = json!([wave.file(), wave.begin, wave.end()]);
    }
    let vega = part.arch.starts_with("gfx9");
    json!({ "wave_filenames": files, "gfxv": if vega { "vega" } else { "navi" }, "gfxip": part.arch.trim_start_matches("gfx"),
        "counter_names": [], "version": "3.0.0", "global_begin_time": 1000 })
}

/// When waves began and ended, on all compute units of each engine.
fn occupancy(waves: &[Wave], name: &str) -> Value {
    let mut engines: BTreeMap<u64, Vec<[i64; 6]>> = BTreeMap::new();
    for wave in waves {
        let place = [wave.cu, wave.simd, wave.slot].map(|number| number as i64);
        let row = |time: i64, begins: i64| [time, place[0], place[1], place[2], begins, 1];
        engines.entry(wave.engine).or_default().extend([row(wave.begin, 1), row(wave.end(), 0)]);
    }
    let mut document = json!({ "dispatches": { "1": name }, "version": "3.0.0" });
    for (engine, mut rows) in engines {
        rows.sort();
        document[engine.to_string()] = json!(rows);
    }
    document
}

/// How many waves were in a state over time.
fn in_state(traced: &[&Wave], state: usize, name: &str) -> Value {
    let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
    for wave in traced {
        let mut at = wave.begin;
        for (of, cycles) in wave.timeline() {
            if of == state {
                *changes.entry(at).or_default() += 1;
                *changes.entry(at + cycles).or_default() -= 1;
            }
            at += cycles;
        }
    }
    let mut waves = 0;
    let state: Vec<i64> = changes
        .values()
        .map(|change| {
            waves += change;
            waves
        })
        .collect();
    json!({ "name": name, "time": changes.keys().collect::<Vec<_>>(), "state": state })
}
