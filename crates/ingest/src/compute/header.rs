//! Columns of a counter table: which describe a dispatch, which are counters, which are neither.

use trace::Map;

/// What a column says about a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Dispatch,
    Kernel,
    Gpu,
    Grid,
    Workgroup,
    Lds,
    Scratch,
    Vgpr,
    Agpr,
    Sgpr,
    Start,
    End,
    CounterName,
    CounterValue,
    Correlation,
    Recording,
}

/// Spellings of every release and back end, in lower case.
const FIELDS: &[(Field, &[&str])] = &[
    (Field::Dispatch, &["dispatch_id", "index"]),
    (Field::Kernel, &["kernel_name", "kernelname"]),
    (Field::Gpu, &["gpu_id", "gpu-id"]),
    (Field::Grid, &["grid_size", "grd"]),
    (Field::Workgroup, &["workgroup_size", "wgr"]),
    (Field::Lds, &["lds_per_workgroup", "lds"]),
    (Field::Scratch, &["scratch_per_workitem", "scr"]),
    (Field::Vgpr, &["arch_vgpr", "vgpr"]),
    (Field::Agpr, &["accum_vgpr"]),
    (Field::Sgpr, &["sgpr"]),
    (Field::Start, &["start_timestamp", "beginns"]),
    (Field::End, &["end_timestamp", "endns"]),
    (Field::CounterName, &["counter_name"]),
    (Field::CounterValue, &["counter_value"]),
    (Field::Correlation, &["correlation_id"]),
    (Field::Recording, &["guid"]),
];

/// Columns that are neither identity nor counters.
const OTHERS: &[&str] = &[
    "wave_size",
    "fbar",
    "obj",
    "sig",
    "queue-id",
    "queue-index",
    "queue_id",
    "pid",
    "tid",
    "kernel_id",
    "correlation_id",
    "xcc_index",
    "dispatchns",
    "completens",
    "durationns",
    "node",
    "agent_id",
];

/// What to do with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It describes the dispatch.
    Field(Field),
    /// It is the counter with this number.
    Counter(usize),
    /// It is ignored: a second copy, or an address.
    Skip,
}

/// The columns of a table.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// One role per column.
    pub roles: Vec<Role>,
    /// Names of the counters.
    pub counters: Vec<String>,
}

impl Header {
    /// Finds the role of each column in a header line.
    pub fn of(names: &[String]) -> Self {
        let lower: Map<String, ()> = names.iter().map(|name| (name.to_ascii_lowercase(), ())).collect();
        let mut header = Header::default();
        let mut seen: Map<String, ()> = Map::default();
        for name in names {
            let key = name.to_ascii_lowercase();
            let role = if seen.insert(key.clone(), ()).is_some() || is_copy(&key, &lower) {
                Role::Skip
            } else if let Some((field, _)) = FIELDS.iter().find(|(_, names)| names.contains(&key.as_str())) {
                Role::Field(*field)
            } else if OTHERS.contains(&key.as_str()) || key.is_empty() {
                Role::Skip
            } else {
                header.counters.push(name.clone());
                Role::Counter(header.counters.len() - 1)
            };
            header.roles.push(role);
        }
        header
    }

    /// Whether there is a column for this field.
    pub fn has(&self, field: Field) -> bool {
        self.roles.contains(&Role::Field(field))
    }

    /// Whether this is a table of dispatches at all.
    pub fn is_dispatches(&self) -> bool {
        self.has(Field::Kernel) && self.has(Field::Gpu) && self.has(Field::Grid)
    }

    /// Whether a row has a dispatch and one counter, instead of all its counters.
    pub fn is_long(&self) -> bool {
        self.has(Field::CounterName) && self.has(Field::CounterValue)
    }
}

/// Joining passes leaves numbered copies (`SQ_CYCLES_2`, `Wave_Size_1`); the column without a number is the first.
/// `SQC_DCACHE_REQ_READ_1` is a counter, since there is no `SQC_DCACHE_REQ_READ`.
fn is_copy(name: &str, all: &Map<String, ()>) -> bool {
    let Some((base, number)) = name.rsplit_once('_') else { return false };
    number.bytes().all(|b| b.is_ascii_digit())
        && !number.is_empty()
        && (all.contains_key(base) || OTHERS.contains(&base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(line: &str) -> Header {
        Header::of(&line.split(',').map(str::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn copies_are_told_from_counters() {
        let header = header(
            "Dispatch_ID,Kernel_Name,GPU_ID,grd,Wave_Size,Wave_Size_1,obj_3,SQ_CYCLES,SQ_CYCLES_2,SQC_DCACHE_REQ_READ_1,TCC_HIT[3],BeginNs",
        );
        assert_eq!(header.counters, ["SQ_CYCLES", "SQC_DCACHE_REQ_READ_1", "TCC_HIT[3]"]);
        assert!(header.is_dispatches() && !header.is_long() && header.has(Field::Start));
        assert_eq!(header.roles[5], Role::Skip);
    }
}
