//! Tables about the run: metadata, strings, nodes, processes, threads, agents, queues, streams, counters, symbols.

use super::definition::{Cell, TableDef, number, tables};
use super::model::Model;
use formats::rocpd::table;

/// Tags that every recording has in `rocpd_metadata`, before those of the source.
const TAGS: [&str; 3] = ["schema_version", "uuid", "guid"];

fn metadata(m: &Model, row: usize) -> (&str, String) {
    let own = TAGS.len() * m.guids.len();
    if row >= own {
        let fact = &m.trace.metadata[row - own];
        return (m.text(fact.key), m.text(fact.value).to_string());
    }
    let guid = &m.guids[row / TAGS.len()];
    let tag = TAGS[row % TAGS.len()];
    let value = match tag {
        "schema_version" => "3".to_string(),
        "uuid" => format!("_{}", guid.replace('-', "_")),
        _ => guid.clone(),
    };
    (tag, value)
}

fn symbol(m: &Model, row: usize) -> Option<&trace::KernelSymbol> {
    m.symbols[row].own.map(|own| &m.trace.symbols[own])
}

fn kind(m: &Model, row: usize) -> Option<&trace::CounterKind> {
    m.pmcs[row].own.map(|own| &m.trace.counter_kinds[own])
}

const EMPTY: Cell<'static> = Cell::Text("{}");

pub(super) static TABLES: &[TableDef] = tables! {
    table::METADATA, numbered true, rows |m| TAGS.len() * m.guids.len() + m.trace.metadata.len(), {
        "id" INTEGER = |_, i| number(i);
        "tag" TEXT = |m, i| metadata(m, i).0.into();
        "value" TEXT = |m, i| Cell::Made(metadata(m, i).1);
    }
    table::STRING, rows |m| m.strings().len(), {
        "id" INTEGER = |m, i| m.string_id(m.strings()[i].1).into();
        "guid" TEXT = |m, i| Cell::Text(&m.guids[m.strings()[i].0 as usize]);
        "string" TEXT = |m, i| m.text(m.strings()[i].1).into();
    }
    table::INFO_NODE, rows |m| m.nodes.len(), {
        "id" INTEGER = |m, i| m.nid[m.nodes[i]].into();
        "guid" TEXT = |m, i| m.guid_of(m.nodes[i]).into();
        "hash" BIGINT = |m, i| m.nid[m.nodes[i]].into();
        "machine_id" TEXT = |m, i| m.known(m.trace.processes[m.nodes[i]].machine).into();
        "system_name" TEXT = |_, _| Cell::Null;
        "hostname" TEXT = |m, i| m.known(m.trace.processes[m.nodes[i]].hostname).into();
        "release" TEXT = |_, _| Cell::Null;
        "version" TEXT = |_, _| Cell::Null;
        "hardware_name" TEXT = |_, _| Cell::Null;
        "domain_name" TEXT = |_, _| Cell::Null;
    }
    table::INFO_PROCESS, rows |m| m.trace.processes.len(), {
        "id" INTEGER = |m, i| m.process_id[i].into();
        "guid" TEXT = |m, i| m.guid_of(i).into();
        "nid" INTEGER = |m, i| m.nid[i].into();
        "ppid" INTEGER = |m, i| m.trace.processes[i].ppid.into();
        "pid" INTEGER = |m, i| m.trace.processes[i].pid.into();
        "init" BIGINT = |m, i| m.trace.processes[i].start.into();
        "fini" BIGINT = |m, i| m.trace.processes[i].end.into();
        "start" BIGINT = |m, i| m.trace.processes[i].start.into();
        "end" BIGINT = |m, i| m.trace.processes[i].end.into();
        "command" TEXT = |m, i| m.known(m.trace.processes[i].command).into();
        "environment" JSONB = |_, _| EMPTY;
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::INFO_THREAD, rows |m| m.trace.threads.len(), {
        "id" INTEGER = |m, i| m.thread_id[i].into();
        "guid" TEXT = |m, i| m.guid(m.trace.threads[i].process).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.threads[i].process).into();
        "ppid" INTEGER = |m, i| m.trace.processes[m.process(m.trace.threads[i].process)].ppid.into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.threads[i].process).into();
        "tid" INTEGER = |m, i| m.trace.threads[i].tid.into();
        "name" TEXT = |m, i| m.known(m.trace.threads[i].name).into();
        "start" BIGINT = |_, _| Cell::Null;
        "end" BIGINT = |_, _| Cell::Null;
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::INFO_AGENT, rows |m| m.trace.agents.len(), {
        "id" INTEGER = |m, i| m.agent_id[i].into();
        "guid" TEXT = |m, i| m.guid(m.trace.agents[i].process).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.agents[i].process).into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.agents[i].process).into();
        "type" TEXT = |m, i| m.agent_kind(trace::AgentId::at(i)).into();
        "absolute_index" INTEGER = |m, i| m.trace.agents[i].absolute_index.into();
        "logical_index" INTEGER = |m, i| m.trace.agents[i].logical_index.into();
        "type_index" INTEGER = |m, i| m.trace.agents[i].type_index.into();
        "uuid" INTEGER = |_, _| Cell::Null;
        "name" TEXT = |m, i| m.known(m.trace.agents[i].name).into();
        "model_name" TEXT = |_, _| Cell::Null;
        "vendor_name" TEXT = |_, _| Cell::Null;
        "product_name" TEXT = |m, i| m.known(m.trace.agents[i].product).into();
        "user_name" TEXT = |_, _| Cell::Null;
        "extdata" JSONB = |m, i| m.known(m.trace.agents[i].extra).unwrap_or("{}").into();
    }
    table::INFO_QUEUE, rows |m| m.trace.queues.len(), {
        "id" INTEGER = |m, i| m.queue_id[i].into();
        "guid" TEXT = |m, i| m.guid(m.trace.queues[i].process).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.queues[i].process).into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.queues[i].process).into();
        "name" TEXT = |m, i| m.known(m.trace.queues[i].name).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::INFO_STREAM, rows |m| m.trace.streams.len(), {
        "id" INTEGER = |m, i| m.stream_id[i].into();
        "guid" TEXT = |m, i| m.guid(m.trace.streams[i].process).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.streams[i].process).into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.streams[i].process).into();
        "name" TEXT = |m, i| m.known(m.trace.streams[i].name).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::INFO_PMC, numbered true, rows |m| m.pmcs.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid_of(m.pmcs[i].process).into();
        "nid" INTEGER = |m, i| m.nid[m.pmcs[i].process].into();
        "pid" INTEGER = |m, i| m.process_id[m.pmcs[i].process].into();
        "agent_id" INTEGER = |m, i| m.agent_ref(m.pmcs[i].agent).into();
        "target_arch" TEXT = |m, i| m.agent_kind(m.pmcs[i].agent).into();
        "event_code" INTEGER = |_, _| Cell::Null;
        "instance_id" INTEGER = |_, _| Cell::Null;
        "name" TEXT = |m, i| m.text(m.pmcs[i].name).into();
        "symbol" TEXT = |m, i| m.text(m.pmcs[i].name).into();
        "description" TEXT = |m, i| kind(m, i).and_then(|k| m.known(k.description)).into();
        "long_description" TEXT = |_, _| Cell::Null;
        "component" TEXT = |_, _| Cell::Text("rocm");
        "units" TEXT = |m, i| m.text(m.pmcs[i].unit).into();
        "value_type" TEXT = |_, _| Cell::Text("ABS");
        "block" TEXT = |m, i| kind(m, i).and_then(|k| m.known(k.block)).into();
        "expression" TEXT = |m, i| kind(m, i).and_then(|k| m.known(k.expression)).into();
        "is_constant" INTEGER = |_, _| Cell::Null;
        "is_derived" INTEGER = |m, i| kind(m, i).map(|k| i64::from(!k.expression.is_empty())).into();
        "spm_support" INTEGER = |_, _| Cell::Null;
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::INFO_CODE_OBJECT, rows |m| m.code_objects.len(), {
        "id" INTEGER = |m, i| symbol(m, m.code_objects[i]).and_then(|s| s.code_object.get()).into();
        "guid" TEXT = |m, i| m.guid_of(m.symbols[m.code_objects[i]].process).into();
        "nid" INTEGER = |m, i| m.nid[m.symbols[m.code_objects[i]].process].into();
        "pid" INTEGER = |m, i| m.process_id[m.symbols[m.code_objects[i]].process].into();
        "agent_id" INTEGER = |_, _| Cell::Null;
        "uri" TEXT = |_, _| Cell::Null;
        "load_base" BIGINT = |_, _| Cell::Null;
        "load_size" BIGINT = |_, _| Cell::Null;
        "load_delta" BIGINT = |_, _| Cell::Null;
        "storage_type" TEXT = |_, _| Cell::Null;
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::INFO_KERNEL_SYMBOL, rows |m| m.symbols.len(), {
        "id" INTEGER = |m, i| m.symbols[i].id.into();
        "guid" TEXT = |m, i| m.guid_of(m.symbols[i].process).into();
        "nid" INTEGER = |m, i| m.nid[m.symbols[i].process].into();
        "pid" INTEGER = |m, i| m.process_id[m.symbols[i].process].into();
        "code_object_id" INTEGER = |m, i| symbol(m, i).and_then(|s| s.code_object.get()).into();
        "kernel_name" TEXT = |m, i| symbol(m, i).map_or(m.text(m.symbols[i].name), |s| m.text(s.kernel_name)).into();
        "display_name" TEXT = |m, i| m.text(m.symbols[i].name).into();
        "kernel_object" INTEGER = |_, _| Cell::Null;
        "kernarg_segment_size" INTEGER = |m, i| symbol(m, i).and_then(|s| s.kernarg_bytes.get()).into();
        "kernarg_segment_alignment" INTEGER = |_, _| Cell::Null;
        "group_segment_size" INTEGER = |m, i| symbol(m, i).and_then(|s| s.group_segment_bytes.get()).into();
        "private_segment_size" INTEGER = |m, i| symbol(m, i).and_then(|s| s.private_segment_bytes.get()).into();
        "sgpr_count" INTEGER = |m, i| symbol(m, i).map_or(m.symbols[i].registers[2], |s| s.sgpr).into();
        "arch_vgpr_count" INTEGER = |m, i| symbol(m, i).map_or(m.symbols[i].registers[0], |s| s.vgpr).into();
        "accum_vgpr_count" INTEGER = |m, i| symbol(m, i).map_or(m.symbols[i].registers[1], |s| s.agpr).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::TRACK, numbered true, rows |m| m.tracks.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid_of(m.tracks[i].process).into();
        "nid" INTEGER = |m, i| m.nid[m.tracks[i].process].into();
        "pid" INTEGER = |m, i| m.process_id[m.tracks[i].process].into();
        "tid" INTEGER = |m, i| m.thread_ref(m.tracks[i].thread).into();
        "name_id" INTEGER = |m, i| m.string_id(m.tracks[i].name).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
};
