//! Fields of Perfetto's messages, and how they are written.

pub(super) use formats::perfetto::{
    annotation, counter, event, interned, packet, process, thread, trace_file, track,
};

pub(super) use crate::protobuf::*;
