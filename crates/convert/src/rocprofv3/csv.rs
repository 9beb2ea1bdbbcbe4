//! The CSV set: one file per domain that has rows, named `PREFIX_<stem>.csv`, plus `agent_info`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use trace::{CounterId, RowRef, StrId, Table, Trace};

use super::cells::{self, Cell, Columns, Row};
use super::words;
use files::OutputFile;

/// Which tool's columns to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnSet {
    /// rocprofv3 of ROCm 7.0.
    #[default]
    Rocprofv3,
    /// rocprofv3 of ROCm 6.2: fewer columns, agents as plain numbers.
    Older,
    /// `rocpd convert -f csv`: the recording's guid first.
    Rocpd,
}

/// How to write a set.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which tool's columns.
    pub columns: ColumnSet,
    /// How agents are numbered.
    pub agents: AgentIndex,
}

/// How to name an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentIndex {
    /// `Agent 4`: by its number among all agents of the machine.
    #[default]
    Absolute,
    /// `Agent 1`: by its number among the agents that the process sees.
    Relative,
    /// `GPU 0`: by its number among the agents of its kind.
    TypeRelative,
}

const API: &str = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp";
const KERNEL: &str = "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,\
    Correlation_Id,Start_Timestamp,End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,\
    SGPR_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z";
const OLDER_KERNEL: &str = "Kind,Agent_Id,Queue_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,\
    End_Timestamp,Private_Segment_Size,Group_Segment_Size,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,\
    Grid_Size_X,Grid_Size_Y,Grid_Size_Z";
const COPY: &str = "Kind,Direction,Stream_Id,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,\
    Start_Timestamp,End_Timestamp";
const OLDER_COPY: &str =
    "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp";
const ALLOCATION: &str =
    "Kind,Operation,Agent_Id,Allocation_Size,Address,Correlation_Id,Start_Timestamp,End_Timestamp";
const SCRATCH: &str = "Kind,Operation,Agent_Id,Queue_Id,Thread_Id,Alloc_Flags,Start_Timestamp,End_Timestamp";
const COUNTER: &str = "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,\
    Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,\
    Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp";
const OLDER_COUNTER: &str = "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,\
    Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value";
const AGENT: &str = "Node_Id,Logical_Node_Id,Agent_Type,Cpu_Cores_Count,Simd_Count,Cpu_Core_Id_Base,\
    Simd_Id_Base,Max_Waves_Per_Simd,Lds_Size_In_Kb,Gds_Size_In_Kb,Num_Gws,Wave_Front_Size,Num_Xcc,Cu_Count,\
    Array_Count,Num_Shader_Banks,Simd_Arrays_Per_Engine,Cu_Per_Simd_Array,Simd_Per_Cu,Max_Slots_Scratch_Cu,\
    Gfx_Target_Version,Vendor_Id,Device_Id,Location_Id,Domain,Drm_Render_Minor,Num_Sdma_Engines,\
    Num_Sdma_Xgmi_Engines,Num_Sdma_Queues_Per_Engine,Num_Cp_Queues,Max_Engine_Clk_Ccompute,\
    Max_Engine_Clk_Fcompute,Sdma_Fw_Version,Fw_Version,Capability,Cu_Per_Engine,Max_Waves_Per_Cu,Family_Id,\
    Workgroup_Max_Size,Grid_Max_Size,Local_Mem_Size,Hive_Id,Gpu_Id,Workgroup_Max_Dim_X,Workgroup_Max_Dim_Y,\
    Workgroup_Max_Dim_Z,Grid_Max_Dim_X,Grid_Max_Dim_Y,Grid_Max_Dim_Z,Name,Vendor_Name,Product_Name,Model_Name";

/// Columns of runs with graphs, after all others.
const GRAPH: &str = ",Graph_Exec_Id,Graph_Node_Id";

/// The header of a file of this set, by its stem.
pub fn header(stem: &str, columns: ColumnSet) -> Option<String> {
    use ColumnSet::{Older, Rocpd, Rocprofv3};
    let plain = match (stem, columns) {
        ("kernel_trace", Older) => OLDER_KERNEL.into(),
        ("kernel_trace", _) => KERNEL.into(),
        ("memory_copy_trace", Older) => OLDER_COPY.into(),
        ("memory_copy_trace", _) => COPY.into(),
        ("memory_allocation_trace", _) => ALLOCATION.into(),
        ("scratch_memory_trace", Rocprofv3) => format!("{SCRATCH},Allocation_Size"),
        // Neither the older set nor rocpd's has sizes or a guid here.
        ("scratch_memory_trace", _) => return Some(SCRATCH.into()),
        ("counter_collection", Older) => OLDER_COUNTER.into(),
        // rocpd's header says `Pid`, but the cells hold the guid.
        ("counter_collection", Rocpd) => return Some(format!("Pid,{COUNTER}")),
        ("counter_collection", Rocprofv3) => COUNTER.into(),
        ("agent_info", _) => AGENT.into(),
        _ if words::DOMAINS.iter().any(|domain| domain.stem == stem) => API.into(),
        _ => return None,
    };
    Some(if columns == Rocpd { format!("Guid,{plain}") } else { plain })
}

/// Stems of all files that a set may have.
pub fn stems() -> impl Iterator<Item = &'static str> {
    const OTHERS: [&str; 6] = [
        "kernel_trace",
        "memory_copy_trace",
        "memory_allocation_trace",
        "scratch_memory_trace",
        "counter_collection",
        "agent_info",
    ];
    OTHERS.into_iter().chain(words::DOMAINS.iter().map(|domain| domain.stem))
}

/// The file of a set with this stem.
pub fn path(prefix: &Path, stem: &str) -> PathBuf {
    let name = prefix.file_name().unwrap_or_default().to_string_lossy();
    prefix.with_file_name(format!("{name}_{stem}.csv"))
}

/// Writes the set `PREFIX_<stem>.csv`; returns each file's path and size. Files without rows are not written.
/// Writes all files or none.
pub fn write(trace: &Trace, prefix: &Path, options: &Options) -> io::Result<Vec<(PathBuf, u64)>> {
    let set = Set { trace, prefix, columns: options.columns, agents: options.agents };
    let files = set.files()?;
    let written = files.iter().map(|file| (file.path.clone(), file.bytes)).collect();
    files::commit_all(files.into_iter().map(|file| file.output).collect())?;
    Ok(written)
}

/// What the trace has but the files cannot hold, one line each.
pub fn left_out(trace: &Trace) -> Vec<String> {
    let marks = trace.samples.kind.iter().filter(|kind| trace.strings.get(**kind).starts_with("MARKER_"));
    let sizes = trace.memory_copies.bytes.iter().filter(|bytes| bytes.get().is_some());
    let counts = [
        (trace.samples.len() - marks.count(), "the format has no file for samples"),
        (sizes.count(), "the format has no column for copy sizes"),
        (trace.args.len(), "the format has no column for call arguments"),
        (
            trace.syncs.len(),
            "the format has no file for synchronisations (their calls are in the API traces)",
        ),
    ];
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}

/// A file whose bytes are written but which is not renamed yet.
struct Pending {
    output: OutputFile,
    path: PathBuf,
    bytes: u64,
}
struct Set<'a> {
    trace: &'a Trace,
    prefix: &'a Path,
    columns: ColumnSet,
    agents: AgentIndex,
}

/// Size at which it is flushed.
const BUFFER: usize = 1 << 20;

impl<'a> Set<'a> {
    fn files(&self) -> io::Result<Vec<Pending>> {
        let trace = self.trace;
        let mut files = Vec::new();
        files.extend(self.rows("kernel_trace", cells::KERNELS, 0..trace.kernels.len())?);
        let mut rows: [Vec<u32>; words::DOMAINS.len()] = Default::default();
        let mut domains: Vec<Option<usize>> = Vec::new();
        for (i, category) in trace.regions.category.iter().enumerate() {
            let slot = category.0 as usize;
            if slot >= domains.len() {
                domains.resize(slot + 1, None);
            }
            let domain = *domains[slot].get_or_insert_with(|| words::domain(trace.strings.get(*category)));
            rows[domain].push(i as u32);
        }
        for (domain, rows) in words::DOMAINS.iter().zip(rows) {
            let rows = rows.iter().map(|&i| self.row(i as usize));
            let marks = if domain.stem == "marker_api_trace" { self.marks() } else { Vec::new() };
            let marks = marks.into_iter().map(|i| self.row(i));
            files.extend(self.file(domain.stem, (cells::REGIONS, rows), (cells::MARKS, marks))?);
        }
        files.extend(self.rows("memory_copy_trace", cells::COPIES, 0..trace.memory_copies.len())?);
        let level = |i: usize| trace.strings.get(trace.memory_allocations.level[i]);
        let (scratch, plain): (Vec<usize>, Vec<usize>) =
            (0..trace.memory_allocations.len()).partition(|&i| level(i) == "SCRATCH");
        files.extend(self.rows("memory_allocation_trace", cells::ALLOCATIONS, plain.into_iter())?);
        files.extend(self.rows("scratch_memory_trace", cells::ALLOCATIONS, scratch.into_iter())?);
        files.extend(self.counters()?);
        files.extend(self.agents()?);
        Ok(files)
    }

    /// Instant markers, which rocpd lists among the markers.
    fn marks(&self) -> Vec<usize> {
        let (samples, strings) = (&self.trace.samples, &self.trace.strings);
        let is_mark = |i: &usize| {
            self.columns == ColumnSet::Rocpd && strings.get(samples.kind[*i]).starts_with("MARKER_")
        };
        (0..samples.len()).filter(is_mark).collect()
    }

    fn open(&self, stem: &str) -> io::Result<(Pending, Vec<u8>, String)> {
        let mut header = header(stem, self.columns).unwrap_or_default();
        // Only runs with graphs have these, so that other files stay as scripts expect.
        let graphs = !self.trace.graph_nodes.is_empty() && self.columns != ColumnSet::Older;
        if graphs && matches!(stem, "kernel_trace" | "memory_copy_trace") {
            header.push_str(GRAPH);
        }
        let mut buffer = Vec::with_capacity(BUFFER + (1 << 14));
        // rocprofv3 quotes every name and escapes no quotes; the header shows readers that these files escape
        // them.
        if self.columns == ColumnSet::Rocpd {
            buffer.extend_from_slice(header.as_bytes());
        } else {
            let quoted: Vec<String> = header.split(',').map(|name| format!("\"{name}\"")).collect();
            buffer.extend_from_slice(quoted.join(",").as_bytes());
        }
        buffer.push(b'\n');
        let path = path(self.prefix, stem);
        Ok((Pending { output: OutputFile::create(&path)?, path, bytes: 0 }, buffer, header))
    }

    fn close(&self, mut file: Pending, buffer: &[u8]) -> io::Result<Option<Pending>> {
        file.output.write_all(buffer)?;
        file.bytes = file.output.file()?.metadata()?.len();
        Ok(Some(file))
    }

    fn row(&self, i: usize) -> Row<'a> {
        let bare_agents = self.columns == ColumnSet::Older;
        Row { trace: self.trace, i, counter: None, bare_agents, agents: self.agents }
    }

    fn rows(
        &self,
        stem: &str,
        columns: Columns,
        rows: impl Iterator<Item = usize>,
    ) -> io::Result<Option<Pending>> {
        self.file(stem, (columns, rows.map(|i| self.row(i))), (columns, std::iter::empty()))
    }

    /// A file with the rows of one table, then of another.
    fn file(
        &self,
        stem: &str,
        first: (Columns, impl Iterator<Item = Row<'a>>),
        second: (Columns, impl Iterator<Item = Row<'a>>),
    ) -> io::Result<Option<Pending>> {
        let (mut rows, mut more) = (first.1.peekable(), second.1.peekable());
        if rows.peek().is_none() && more.peek().is_none() {
            return Ok(None);
        }
        let (mut file, mut buffer, header) = self.open(stem)?;
        let cells = |columns: Columns| -> Vec<Cell> {
            let cell = |name| columns.iter().find(|(known, _)| *known == name).map(|(_, cell)| *cell);
            header.split(',').filter_map(cell).collect()
        };
        write_rows(&mut file.output, &mut buffer, &cells(first.0), rows)?;
        write_rows(&mut file.output, &mut buffer, &cells(second.0), more)?;
        self.close(file, &buffer)
    }

    /// Counters, summed over instances as rocprofv3 does: one row per dispatch and counter.
    fn counters(&self) -> io::Result<Option<Pending>> {
        let counters = &self.trace.counters;
        let mut values: Vec<(usize, CounterId, f64)> = (0..counters.len())
            .filter_map(|i| {
                let row: RowRef = counters.kernel[i];
                Some((row.row_of(Table::Kernels)?, counters.counter[i], counters.value[i]))
            })
            .collect();
        values.sort_by_key(|(row, counter, _)| (*row, *counter));
        values.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let name =
            |counter: CounterId| counter.get().map_or(StrId::EMPTY, |c| self.trace.counter_kinds[c].name);
        let rows = values
            .iter()
            .map(|&(i, counter, value)| Row { counter: Some((name(counter), value)), ..self.row(i) });
        let none = (cells::KERNELS, std::iter::empty());
        self.file("counter_collection", (cells::KERNELS, rows), none)
    }

    fn agents(&self) -> io::Result<Option<Pending>> {
        if self.trace.agents.is_empty() {
            return Ok(None);
        }
        let (file, mut buffer, header) = self.open("agent_info")?;
        for (i, agent) in self.trace.agents.iter().enumerate() {
            let extra = serde_json::from_str(self.trace.strings.get(agent.extra)).unwrap_or_default();
            for (c, column) in header.split(',').enumerate() {
                if c > 0 {
                    buffer.push(b',');
                }
                cells::agent_info(&mut buffer, self.trace, i, column, &extra);
            }
            buffer.push(b'\n');
        }
        self.close(file, &buffer)
    }
}

fn write_rows<'a>(
    file: &mut OutputFile,
    buffer: &mut Vec<u8>,
    cells: &[Cell],
    rows: impl Iterator<Item = Row<'a>>,
) -> io::Result<()> {
    for row in rows {
        for (c, cell) in cells.iter().enumerate() {
            if c > 0 {
                buffer.push(b',');
            }
            cell(buffer, &row);
        }
        buffer.push(b'\n');
        if buffer.len() >= BUFFER {
            file.write_all(buffer)?;
            buffer.clear();
        }
    }
    Ok(())
}
