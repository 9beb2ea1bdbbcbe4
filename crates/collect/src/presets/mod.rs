//! Presets: what to record, as data that people can read, copy and change.
//!
//! ```text
//! presets/*.toml ──┐
//! a file of TOML ──┼─► Preset ─► passes::plan (GPU, version) ─► commands
//! madengine JSON ──┘
//! ```

mod counter_file;
mod error;
mod library;
mod madengine;
mod preset;
mod yaml;

pub use counter_file::{CounterRequest, counters};
pub use error::{Document, Mistake, one_of};
pub use library::{FORMATS, LIBRARIES, MONITORS, builtin, find, parse, source, traces};
pub use madengine::{Config, from_json, from_json_file};
pub use preset::{PcSampling, Preset, PresetKind};
