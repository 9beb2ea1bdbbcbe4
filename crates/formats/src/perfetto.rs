//! Perfetto: the field numbers of its messages, and our own labels.

/// Prefix of our own counter tracks, whose values are also stored with the dispatches.
pub const COUNTER_OF_DISPATCHES: &str = "PMC ";

/// Our own track of the sizes of allocations.
pub const MEMORY_IN_USE: &str = "Memory in use";

/// The name of a process: its label and its program. The reader takes the rank from it.
pub fn process_name(label: &str, program: &str) -> String {
    if label.is_empty() { program.to_string() } else { format!("{label}: {program}") }
}

/// The rank and the program in such a name; `None` for other names.
pub fn parse_process_name(name: &str) -> Option<(Option<u32>, &str)> {
    let (label, program) = name.split_once(": ")?;
    let mut rank = None;
    let parts: Vec<&str> = label.split(" · ").collect();
    for (place, part) in parts.iter().enumerate() {
        let number = |word: &str| part.strip_prefix(word).and_then(|number| number.parse::<u32>().ok());
        match (number("rank "), number("pid ").or(number("recording "))) {
            (Some(number), _) => rank = Some(number),
            (None, Some(_)) => {}
            // Only a host comes without a word before it, and never alone.
            (None, None) if place == 0 && parts.len() > 1 => {}
            (None, None) => return None,
        }
    }
    Some((rank, program))
}

/// `Trace`
pub mod trace_file {
    /// Field `packet`.
    pub const PACKET: u32 = 1;
}

/// `TracePacket`
pub mod packet {
    /// Field `timestamp`.
    pub const TIMESTAMP: u32 = 8;
    /// Field `sequence`.
    pub const SEQUENCE: u32 = 10;
    /// Field `track_event`.
    pub const TRACK_EVENT: u32 = 11;
    /// Field `interned_data`.
    pub const INTERNED_DATA: u32 = 12;
    /// Field `sequence_flags`.
    pub const SEQUENCE_FLAGS: u32 = 13;
    /// Field `track_descriptor`.
    pub const TRACK_DESCRIPTOR: u32 = 60;
    /// Field `first_on_sequence`.
    pub const FIRST_ON_SEQUENCE: u32 = 87;
    /// Names start over here.
    pub const STATE_CLEARED: u64 = 1;
    /// The packet uses names of earlier packets.
    pub const NEEDS_STATE: u64 = 2;
    /// Field `clock_snapshot`.
    pub const CLOCK_SNAPSHOT: u32 = 6;
    /// Field `statistics`.
    pub const STATISTICS: u32 = 35;
    /// Field `state_was_cleared`.
    pub const STATE_WAS_CLEARED: u32 = 41;
    /// Field `dropped_before`.
    pub const DROPPED_BEFORE: u32 = 42;
    /// Field `compressed`.
    pub const COMPRESSED: u32 = 50;
    /// Field `clock`.
    pub const CLOCK: u32 = 58;
    /// Field `defaults`.
    pub const DEFAULTS: u32 = 59;
}

/// `TrackDescriptor`
pub mod track {
    /// Field `uuid`.
    pub const UUID: u32 = 1;
    /// Field `name`.
    pub const NAME: u32 = 2;
    /// Field `process`.
    pub const PROCESS: u32 = 3;
    /// Field `thread`.
    pub const THREAD: u32 = 4;
    /// Field `parent`.
    pub const PARENT: u32 = 5;
    /// Field `counter`.
    pub const COUNTER: u32 = 8;
    /// Field `description`.
    pub const DESCRIPTION: u32 = 14;
    /// Field `static_name`.
    pub const STATIC_NAME: u32 = 10;
}

/// `ProcessDescriptor`
pub mod process {
    /// Field `pid`.
    pub const PID: u32 = 1;
    /// Field `command_line`.
    pub const COMMAND_LINE: u32 = 2;
    /// Field `name`.
    pub const NAME: u32 = 6;
    /// Field `start`.
    pub const START: u32 = 7;
}

/// `ThreadDescriptor`
pub mod thread {
    /// Field `pid`.
    pub const PID: u32 = 1;
    /// Field `tid`.
    pub const TID: u32 = 2;
    /// Field `name`.
    pub const NAME: u32 = 5;
}

/// `CounterDescriptor`
pub mod counter {
    /// Field `unit`.
    pub const UNIT: u32 = 3;
    /// Field `unit_name`.
    pub const UNIT_NAME: u32 = 6;
    /// Value `size_bytes`.
    pub const SIZE_BYTES: u64 = 3;
    /// Field `factor`.
    pub const FACTOR: u32 = 4;
    /// Field `incremental`.
    pub const INCREMENTAL: u32 = 5;
}

/// `TrackEvent`
pub mod event {
    /// Field `category`.
    pub const CATEGORY: u32 = 3;
    /// Field `annotation`.
    pub const ANNOTATION: u32 = 4;
    /// Field `type`.
    pub const TYPE: u32 = 9;
    /// Field `name`.
    pub const NAME: u32 = 10;
    /// Field `track`.
    pub const TRACK: u32 = 11;
    /// Field `int_value`.
    pub const INT_VALUE: u32 = 30;
    /// Field `double_value`.
    pub const DOUBLE_VALUE: u32 = 44;
    /// Field `flow`.
    pub const FLOW: u32 = 47;
    /// Field `last_of_flow`.
    pub const LAST_OF_FLOW: u32 = 48;
    /// Value `begin`.
    pub const BEGIN: u64 = 1;
    /// Value `end`.
    pub const END: u64 = 2;
    /// Value `instant`.
    pub const INSTANT: u64 = 3;
    /// Value `counter`.
    pub const COUNTER: u64 = 4;
    /// Field `category_text`.
    pub const CATEGORY_TEXT: u32 = 22;
    /// Field `name_text`.
    pub const NAME_TEXT: u32 = 23;
}

/// `DebugAnnotation`
pub mod annotation {
    /// Field `name`.
    pub const NAME: u32 = 1;
    /// Field `int`.
    pub const INT: u32 = 4;
    /// Field `double`.
    pub const DOUBLE: u32 = 5;
    /// Field `text`.
    pub const TEXT: u32 = 6;
    /// Field `bool`.
    pub const BOOL: u32 = 2;
    /// Field `uint`.
    pub const UINT: u32 = 3;
    /// Field `pointer`.
    pub const POINTER: u32 = 7;
    /// Field `name_text`.
    pub const NAME_TEXT: u32 = 10;
    /// Field `text_number`.
    pub const TEXT_NUMBER: u32 = 17;
}

/// `InternedData`, whose entries all have the fields `iid` and `name`.
pub mod interned {
    /// Field `categories`.
    pub const CATEGORIES: u32 = 1;
    /// Field `names`.
    pub const NAMES: u32 = 2;
    /// Field `annotations`.
    pub const ANNOTATIONS: u32 = 3;
    /// Field `id`.
    pub const ID: u32 = 1;
    /// Field `text`.
    pub const TEXT: u32 = 2;
    /// Field `texts`.
    pub const TEXTS: u32 = 29;
}

/// `TracePacketDefaults`
pub mod defaults {
    /// Field `track_event_defaults`.
    pub const TRACK_EVENT: u32 = 11;
    /// Field `timestamp_clock_id`.
    pub const CLOCK: u32 = 58;
}

/// `TrackEventDefaults`
pub mod event_defaults {
    /// Field `track_uuid`.
    pub const TRACK: u32 = 11;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_are_read_as_they_are_written() {
        for (label, rank) in [("rank 3", Some(3)), ("node1 · pid 7 · rank 0", Some(0)), ("pid 7", None)] {
            assert_eq!(parse_process_name(&process_name(label, "python")), Some((rank, "python")), "{label}");
        }
        for name in ["python", "torch: worker", "C: drive"] {
            assert_eq!(parse_process_name(name), None, "{name}");
        }
    }
}
