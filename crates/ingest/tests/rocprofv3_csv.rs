//! rocprofv3 CSV sets: every column set that releases have written, and the effect of damage.

use std::fs;
use std::path::PathBuf;

use rocm_perf_ingest::{Error, Progress, find_inputs, read, rocprofv3};
use trace::{AgentKind, Graph, Needs, RowRef, Table, Trace};

/// Writes files into a new folder and reads it as one trace.
fn read_set(files: &[(&str, &str)], needs: &Needs) -> Trace {
    let folder = write_set(files);
    read(&[folder.path().to_path_buf()], needs, &Progress::default()).unwrap()
}

fn write_set(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn problems(trace: &Trace, id: &str) -> Vec<Option<f64>> {
    trace.health.problems().filter(|check| check.id == id).map(|check| check.value).collect()
}

const AGENTS: &str = r#""Node_Id","Logical_Node_Id","Agent_Type","Cu_Count","Local_Mem_Size","Name","Vendor_Name","Product_Name","Model_Name"
0,0,"CPU",64,0,"AMD EPYC","CPU","AMD EPYC 9575F",""
4,1,"GPU",304,206141652992,"gfx942","AMD","AMD Instinct MI300X","mi300"
"#;

const KERNELS: &str = r#""Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 4",1,0,77,1,9,"void foo<int, "x", 3>(float*, int)",5,13386742234691895,13386742234700548,512,16,8,4,32,64,2,1,640,4,1
"KERNEL_DISPATCH","Agent 4",1,0,77,2,9,"void foo<int, "x", 3>(float*, int)",6,13386742234700600,13386742234700700,512,16,8,4,32,64,2,1,640,4,1
"#;

const CALLS: &str = r#""Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HIP_RUNTIME_API_EXT","hipLaunchKernel",123,77,5,13386742234690000,13386742234690900
"#;

const MARKERS: &str = r#""Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MARKER_CORE_API","step "1", then
more",123,77,7,100,900
"MARKER_CORE_API","mark",123,77,8,150,150
"#;

#[test]
fn a_set_of_release_7_0_is_read_whole() {
    let copies = "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",0,\"Agent 0\",\"Agent 4\",9,10,20\n";
    let allocations = "\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 4\",1024,\"0x00007f0000001000\",3,1,2\n\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_FREE\",\"\"\"\",0,\"0x00007f0000001000\",4,3,4\n";
    let scratch = "\"Kind\",\"Operation\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Alloc_Flags\",\"Start_Timestamp\",\"End_Timestamp\",\"Allocation_Size\"\n\"SCRATCH_MEMORY\",\"SCRATCH_MEMORY_ALLOC\",\"Agent 4\",1,77,0,5,6,4096\n";
    let host = "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\"Correlation_Id\"\n120,18446744073709551615,1,\"v_add_f32 v0, v1, v2\",\"a.hip:3\",5\n";
    let stochastic = "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\"Correlation_Id\",\"Wave_Issued_Instruction\",\"Instruction_Type\",\"Stall_Reason\",\"Wave_Count\"\n130,1,1,\"\",\"b.hip:4\",5,0,\"VALU\",\"WAITCNT\",3\n";
    let stats = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n\"foo\",2,8753,4376.5,100.0,100,8653,1.0\n";
    let trace = read_set(
        &[
            ("123_agent_info.csv", AGENTS),
            ("123_kernel_trace.csv", KERNELS),
            ("123_hip_api_trace.csv", CALLS),
            ("123_marker_api_trace.csv", MARKERS),
            ("123_memory_copy_trace.csv", copies),
            ("123_memory_allocation_trace.csv", allocations),
            ("123_scratch_memory_trace.csv", scratch),
            ("123_pc_sampling_host_trap.csv", host),
            ("123_pc_sampling_stochastic.csv", stochastic),
            ("123_kernel_stats.csv", stats),
        ],
        &Needs::everything(),
    );
    let name = |id| trace.strings.get(id);
    assert_eq!(trace.sources.len(), 1);
    assert_eq!(trace.processes.len(), 1);
    assert_eq!(trace.processes[0].pid, 123);
    let problems: Vec<_> = trace.health.problems().map(|check| check.id).collect();
    assert_eq!(problems, ["coverage"], "one kernel has no call");

    assert_eq!(trace.kernels.len(), 2);
    let kernel = trace.kernels.get(0);
    assert_eq!(name(kernel.name), r#"void foo<int, "x", 3>(float*, int)"#);
    assert_eq!((kernel.start, kernel.end), (13386742234691895, 13386742234700548));
    assert_eq!((kernel.correlation, kernel.dispatch.get(), kernel.graph), (5, Some(1), Graph::Unknown));
    let shape = trace.shapes.get(kernel.shape);
    assert_eq!((shape.grid, shape.workgroup), (Some([640, 4, 1]), Some([64, 2, 1])));
    assert_eq!((shape.lds_bytes.get(), shape.vgpr.get(), shape.agpr.get()), (Some(512), Some(8), Some(4)));
    let agent = &trace.agents[kernel.agent.get().unwrap()];
    assert_eq!(
        (agent.kind, agent.absolute_index.get(), agent.type_index.get()),
        (AgentKind::Gpu, Some(4), Some(0))
    );
    assert_eq!((agent.compute_units.get(), name(agent.product)), (Some(304), "AMD Instinct MI300X"));
    assert_eq!(trace.agents.len(), 2);
    let launch = trace.links.launch_of(RowRef::kernel(0)).unwrap();
    assert_eq!(name(trace.regions.name[launch]), "hipLaunchKernel");

    let marker = trace.regions.get(0);
    assert_eq!((name(marker.name), name(marker.category)), ("step \"1\", then\nmore", "MARKER_CORE_API"));
    let copy = trace.memory_copies.get(0);
    assert_eq!((name(copy.name), copy.bytes.get()), ("MEMORY_COPY_HOST_TO_DEVICE", None));
    assert_eq!((copy.src.get(), copy.dst.get()), (Some(0), Some(1)));
    let allocations: Vec<_> = trace
        .memory_allocations
        .rows()
        .map(|a| (name(a.kind), name(a.level), a.bytes.get(), a.address.get(), a.agent.get()))
        .collect();
    assert_eq!(
        allocations,
        [
            ("ALLOC", "REAL", Some(1024), Some(0x7f0000001000), Some(1)),
            ("FREE", "REAL", None, Some(0x7f0000001000), None),
            ("ALLOC", "SCRATCH", Some(4096), None, Some(1)),
        ]
    );
    let samples: Vec<_> =
        trace.samples.rows().map(|s| (s.start, name(s.name), name(s.location), s.dispatch.get())).collect();
    assert_eq!(
        samples,
        [
            (120, "host_trap", "v_add_f32 v0, v1, v2", Some(1)),
            (130, "stochastic", "b.hip:4", Some(1)),
            (150, "mark", "", None)
        ]
    );
    let reason = trace.strings.find("Stall_Reason").unwrap();
    assert_eq!(trace.args.value(RowRef::new(Table::Samples, 1), reason).map(name), Some("WAITCNT"));
}

#[test]
fn counters_join_their_dispatches_or_make_them() {
    let counters = r#""Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
5,1,"Agent 4",1,123,77,2560,9,"void foo<int, "x", 3>(float*, int)",128,512,0,8,4,32,"SQ_WAVES",40.000000,13386742234691895,13386742234700548
5,1,"Agent 4",1,123,77,2560,9,"void foo<int, "x", 3>(float*, int)",128,512,0,8,4,32,"GRBM_COUNT",1.50000000e-01,13386742234691895,13386742234700548
8,3,"Agent 4",1,123,77,64,10,"bar",64,0,0,8,0,16,"SQ_WAVES",1.000000,13386742234800000,13386742234800100
"#;
    let set = [("123_kernel_trace.csv", KERNELS), ("123_counter_collection.csv", counters)];
    for (files, kernels) in [(&set[..], 3), (&set[1..], 2)] {
        let trace = read_set(files, &Needs::everything());
        assert_eq!((trace.kernels.len(), trace.processes.len()), (kernels, 1));
        let values: Vec<_> = trace
            .counters
            .rows()
            .map(|c| {
                let kernel = c.kernel.row_of(Table::Kernels).unwrap();
                let counter = &trace.counter_kinds[c.counter.get().unwrap()];
                (trace.kernels.dispatch[kernel].get(), trace.strings.get(counter.name), c.value)
            })
            .collect();
        assert_eq!(
            values,
            [(Some(1), "SQ_WAVES", 40.0), (Some(1), "GRBM_COUNT", 0.15), (Some(3), "SQ_WAVES", 1.0)]
        );
    }
    let only = read_set(&set[1..], &Needs::everything());
    assert_eq!(only.shapes.get(only.kernels.shape[0]).grid, Some([2560, 1, 1]));
}

#[test]
fn old_column_sets_are_read_with_what_they_have() {
    let counters = "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value\n0,1,4,1,9,9,1024,\"foo(int, float)\",64,0,0,8,16,\"SQ_WAVES\",16\n";
    let scratch = "\"Kind\",\"Operation\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Alloc_Flags\",\"Start_Timestamp\",\"End_Timestamp\"\n\"SCRATCH_MEMORY\",\"SCRATCH_MEMORY_FREE\",\"GPU 0\",1,77,0,5,6\n";
    let trace = read_set(
        &[("counter_collection.csv", counters), ("scratch_memory_trace.csv", scratch)],
        &Needs::everything(),
    );
    assert_eq!(trace.strings.get(trace.kernels.name[0]), "foo(int, float)");
    assert_eq!((trace.kernels.start[0], trace.kernels.end[0]), (0, 0));
    let shape = trace.shapes.get(trace.kernels.shape[0]);
    assert_eq!((shape.agpr.get(), shape.vgpr.get()), (None, Some(8)));
    assert_eq!(trace.agents[trace.kernels.agent[0].get().unwrap()].absolute_index.get(), Some(4));
    let free = trace.memory_allocations.get(0);
    assert_eq!((trace.strings.get(free.kind), free.bytes.get()), ("FREE", None));
    let agent = &trace.agents[free.agent.get().unwrap()];
    assert_eq!(
        (agent.kind, agent.type_index.get(), agent.absolute_index.get()),
        (AgentKind::Gpu, Some(0), None)
    );
    assert_eq!(trace.processes.len(), 1);
}

#[test]
fn sets_of_rocpd_convert_keep_recordings_apart() {
    let guids = ["0000ddb5-8903-7903-b269-cd8d3745bb8a", "0000ddb5-8903-7903-b269-cd8d3745bb8b"];
    let kernels = format!(
        "\"Guid\",{}\n{}",
        KERNELS.lines().next().unwrap(),
        guids.map(|guid| format!("\"{guid}\",{}\n", KERNELS.lines().nth(1).unwrap())).concat()
    );
    let calls = format!(
        "\"Guid\",{}\n{}",
        CALLS.lines().next().unwrap(),
        format_args!("\"{}\",{}\n", guids[1], CALLS.lines().nth(1).unwrap())
    );
    let counters = format!(
        "\"Pid\",\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Thread_Id\",\"Kernel_Name\",\"Counter_Name\",\"Counter_Value\"\n{},5,1,\"Agent 4\",1,123,77,\"void foo<int, \"x\", 3>(float*, int)\",\"SQ_WAVES\",4\n",
        guids[1]
    );
    let trace = read_set(
        &[
            ("out_kernel_trace.csv", &kernels),
            ("out_hip_api_trace.csv", &calls),
            ("out_counter_collection.csv", &counters),
        ],
        &Needs::everything(),
    );
    assert_eq!(trace.kernels.len(), 2, "the counter's dispatch is one of the two");
    let seen: Vec<_> = trace.processes.iter().map(|p| trace.strings.get(p.guid)).collect();
    assert_eq!(seen, guids);
    assert_eq!(trace.processes[1].pid, 123);
    let of_second = (0..2).find(|&row| trace.kernels.process[row].0 == 1).unwrap();
    assert_eq!(trace.counters.kernel[0], RowRef::kernel(of_second));
    assert_eq!(trace.links.launch_of(RowRef::kernel(of_second)), Some(0));
    assert_eq!(trace.links.launch_of(RowRef::kernel(1 - of_second)), None);
}

#[test]
fn newer_sets_with_other_case_and_columns_are_read() {
    let kernels = "Guid,Kind,Agent_Id,Queue_Id,Stream_Id,Graph_Exec_Id,Graph_Node_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,Duration,Lds_Block_Size,Scratch_Size,Vgpr_Count,Accum_Vgpr_Count,Sgpr_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z\ng1,KERNEL_DISPATCH,Agent 4,1,0,12,1,77,1,9,\"foo(\"\"a\"\", int)\",5,100,150,50,512,16,8,4,32,64,2,1,640,4,1\ng1,KERNEL_DISPATCH,Agent 4,1,0,0,0,77,2,9,plain,6,200,250,50,512,16,8,4,32,64,2,1,640,4,1\n";
    let regions = "Guid,Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\ng1,HIP_RUNTIME_API_EXT,hipGraphLaunch,8,77,5,10,20\n";
    let events = "Guid,Name,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Hip_Event_Handle,Correlation_Id,Start_Timestamp,End_Timestamp\ng1,hipEventRecord,Agent 4,1,3,77,0xff,5,30,40\n";
    let trace = read_set(
        &[
            ("out_kernel_trace.csv", kernels),
            ("out_regions_trace.csv", regions),
            ("out_hip_event_trace.csv", events),
        ],
        &Needs::everything(),
    );
    assert_eq!(trace.strings.get(trace.kernels.name[0]), "foo(\"a\", int)");
    assert_eq!(trace.strings.get(trace.kernels.name[1]), "plain");
    assert_eq!(trace.kernels.graph, [Graph::Replayed, Graph::Direct]);
    assert_eq!(trace.shapes.get(trace.kernels.shape[0]).lds_bytes.get(), Some(512));
    assert_eq!(trace.regions.len(), 1);
    assert_eq!((trace.syncs.event[0].get(), trace.syncs.start[0]), (Some(255), 30));
}

#[test]
fn damage_is_counted_and_costs_only_its_lines() {
    let lines: Vec<&str> = KERNELS.lines().collect();
    let text = format!("{}\n{}\nnonsense, here\n{}\n{}", lines[0], lines[1], lines[2], &lines[2][..60]);
    let trace = read_set(&[("123_kernel_trace.csv", &text)], &Needs::everything());
    assert_eq!(trace.kernels.len(), 2);
    assert_eq!(problems(&trace, "damaged_rows"), [Some(1.0)]);
    assert_eq!(problems(&trace, "truncated").len(), 1);
    for cut in lines[0].len() + 1..KERNELS.len() {
        let folder = write_set(&[("123_kernel_trace.csv", &KERNELS[..cut])]);
        let trace = read(&[folder.path().to_path_buf()], &Needs::everything(), &Progress::default()).unwrap();
        let whole = KERNELS[..cut].matches('\n').count() - 1;
        assert!((whole..=whole + 1).contains(&trace.kernels.len()), "cut at {cut}");
        assert!(
            whole == 2 || KERNELS[..cut].ends_with('\n') || problems(&trace, "truncated").len() == 1,
            "cut at {cut}"
        );
    }
}

#[test]
fn totals_alone_are_no_trace() {
    let stats = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n\"foo\",2,8753,4376.5,100.0,100,8653,1.0\n";
    let folder = write_set(&[("1_kernel_stats.csv", stats), ("1_agent_info.csv", AGENTS)]);
    let file = folder.path().join("1_kernel_stats.csv");
    let error = read(&[file], &Needs::summary(), &Progress::default()).unwrap_err();
    assert!(matches!(error, Error::NotATrace { .. }), "{error}");
    let error = find_inputs(&[folder.path().to_path_buf()]).unwrap_err();
    assert!(matches!(error, Error::NoTraces { .. }), "{error}");
}

#[test]
fn every_header_in_the_collected_list_is_known() {
    let Some(list) = testing::data("rocprofv3_csv_headers.tsv") else { return };
    let list = fs::read_to_string(list).unwrap();
    let mut known = 0;
    for line in list.lines().skip(1) {
        let mut cells = line.split('\t');
        let (file, header, producer) = (cells.next().unwrap(), cells.next().unwrap(), cells.next().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("x.csv");
        let quoted: Vec<String> = header.split(',').map(|name| format!("\"{name}\"")).collect();
        fs::write(&path, quoted.join(",") + "\n").unwrap();
        let ours = rocm_perf_ingest::detect(&path).is_ok();
        let expected = !producer.contains("madengine") && !producer.contains("decoder");
        assert_eq!(ours, expected, "{file} of {producer}");
        known += u32::from(ours);
    }
    assert!(known > 30);
}

#[test]
fn compressed_files_of_a_set_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("5_kernel_trace.csv.zst");
    fs::write(&path, zstd::stream::encode_all(KERNELS.as_bytes(), 1).unwrap()).unwrap();
    let inputs = find_inputs(&[path]).unwrap();
    let trace = rocprofv3::csv::read(&inputs[0], &Needs::summary(), &Progress::default()).unwrap();
    assert_eq!((trace.kernels.len(), trace.processes[0].pid), (2, 5));
}
