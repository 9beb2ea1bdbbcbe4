//! Devices: `agent_info` rows, and the labels that other rows use for them.

use trace::{Agent, AgentId, AgentKind, Map, ProcessId, Trace};

use super::columns::Columns;
use super::split::Rows;
use crate::rocprofv3::number::whole;

/// The agents of a set by process and label.
#[derive(Default)]
pub(super) struct Agents {
    known: Map<(ProcessId, Label), AgentId>,
    /// How many devices of each kind a process has.
    counts: Map<(ProcessId, AgentKind), i64>,
}

/// How a row names a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Label {
    /// `Agent 4`, or `4` in older releases: the node.
    Node(i64),
    /// `GPU 0`: the n-th of its kind.
    OfKind(AgentKind, i64),
}

impl Label {
    fn of(text: &[u8]) -> Option<Self> {
        if let Some(number) = whole(text) {
            return Some(Label::Node(number));
        }
        let space = text.iter().rposition(|b| *b == b' ')?;
        let number = whole(&text[space + 1..])?;
        Some(match &text[..space] {
            b"GPU" => Label::OfKind(AgentKind::Gpu, number),
            b"CPU" => Label::OfKind(AgentKind::Cpu, number),
            b"NIC" => Label::OfKind(AgentKind::Nic, number),
            _ => Label::Node(number),
        })
    }
}

impl Agents {
    /// The agent with a label; without an `agent_info` row it is created from the label.
    pub fn named(&mut self, trace: &mut Trace, process: ProcessId, text: &[u8], kind: AgentKind) -> AgentId {
        let Some(label) = Label::of(text) else { return AgentId::NONE };
        *self.known.entry((process, label)).or_insert_with(|| {
            let agent = match label {
                Label::Node(node) => Agent { kind, absolute_index: Some(node).into(), ..Agent::default() },
                Label::OfKind(kind, place) => {
                    Agent { kind, type_index: Some(place).into(), ..Agent::default() }
                }
            };
            trace.add_agent(Agent { process, ..agent })
        })
    }

    /// Reads the rows of an `agent_info` file.
    pub fn describe(
        &mut self,
        trace: &mut Trace,
        columns: &Columns,
        rows: &mut Rows<'_>,
        mut process_of: impl FnMut(&mut Trace, &[u8]) -> ProcessId,
    ) {
        let guid = columns.find(&["guid"]);
        let (node, logical) = (columns.find(&["node_id"]), columns.find(&["logical_node_id"]));
        let (kind, units) = (columns.find(&["agent_type"]), columns.find(&["cu_count"]));
        let (name, product) = (columns.find(&["name"]), columns.find(&["product_name"]));
        let memory = columns.find(&["local_mem_size"]);
        let mut fields = Vec::new();
        while rows.next(&mut fields) {
            let process = process_of(trace, guid.text(&fields));
            let kind = match kind.text(&fields) {
                b"GPU" => AgentKind::Gpu,
                b"CPU" => AgentKind::Cpu,
                b"NIC" => AgentKind::Nic,
                _ => AgentKind::Unknown,
            };
            let count = self.counts.entry((process, kind)).or_default();
            let place = *count;
            *count += 1;
            let agent = Agent {
                process,
                kind,
                absolute_index: node.optional(&fields),
                logical_index: logical.optional(&fields),
                type_index: Some(place).into(),
                name: trace.strings.intern_bytes(name.text(&fields)).0,
                product: trace.strings.intern_bytes(product.text(&fields)).0,
                // Only GPUs have compute units; rocprofv3 prints the cores of a CPU there.
                compute_units: if kind == AgentKind::Gpu { units.optional(&fields) } else { None.into() },
                memory_bytes: memory.whole(&fields).filter(|bytes| *bytes > 0).into(),
                ..Agent::default()
            };
            let id = trace.add_agent(agent);
            if let Some(node) = node.whole(&fields) {
                self.known.insert((process, Label::Node(node)), id);
            }
            self.known.insert((process, Label::OfKind(kind, place)), id);
        }
    }
}
