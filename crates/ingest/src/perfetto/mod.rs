//! Perfetto traces: rocprofv3's `.pftrace`, rocprof-sys's `perfetto-trace.proto`, and what `convert --to pftrace` writes.
//!
//! ```text
//! packets ─► sequence (names by number, clocks) ─► events on tracks ─► slices ─► rows by category
//! ```
//!
//! Slices are matched in file order, where writers put the end of a slice after its start: kernels that
//! overlap on one track keep their own times, which time order alone would lose.

mod annotations;
mod packet;
mod rows;
mod sequence;
mod tracks;

use std::io::Read;

use rapidhash::v3::rapidhash_v3;
use trace::{Map, Needs, Ns, Sample, Source, Status, StrId, Trace};

use self::annotations::Note;
use self::packet::{AnnotationValue, Event, EventPhase, Packet};
use self::rows::{Rows, Slice};
use self::sequence::Sequence;
use self::tracks::Tracks;
use crate::bytes::read_whole;
use crate::protobuf::Fields;
use crate::times::are_believable;
use crate::{Error, Input, Progress};

/// Bytes between two progress reports.
const STEP: usize = 8 << 20;

/// Limit for the unpacked bytes of one packet of compressed packets.
const MOST_UNPACKED: u64 = 1 << 30;

/// Flows from forward to backward ops in our own files are numbered from this power of two.
const FORWARD_FLOWS: u32 = 48;

/// Reads a file.
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let bytes = read_whole(&input.path, progress)?;
    let mapped = bytes.mapped_len() > 0;
    let mut reader = Reader::new(input, needs, rapidhash_v3(&bytes));
    // Tracks may be described anywhere in the file, even after their first event.
    reader.packets(&bytes, Level::File, &mut |reader, packet| reader.describe(packet), &mut |_| {});
    reader.damaged = 0;
    reader.tracks.make_devices(&mut reader.trace);
    reader.rows.know_counters(reader.tracks.counters(), &mut reader.trace);
    let mut told = 0;
    let mut tell = |left: usize| {
        let done = bytes.len() - left.min(bytes.len());
        if mapped && done >= told + STEP {
            progress.advance((done - told) as u64);
            told = done;
        }
    };
    reader.packets(&bytes, Level::File, &mut |reader, packet| reader.take(packet), &mut tell);
    if mapped {
        progress.advance(bytes.len().saturating_sub(told) as u64);
    }
    if reader.events == 0 {
        let why = match reader.packets {
            0 => "none of its packets can be read".to_string(),
            _ => "it has no track events; rocprofv3 and rocprof-sys write nothing else".to_string(),
        };
        return Err(Error::Damaged { path: input.path.clone(), format: "a Perfetto trace", why });
    }
    if let Some(damage) = &bytes.damage {
        let message = format!("`{}` stops early: {damage}", input.path.display());
        reader.trace.health.report("truncated", Status::Warn, None, message);
    }
    Ok(reader.finish())
}

/// Where packets are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    File,
    /// Inside a compressed packet, where nesting is not allowed.
    Unpacked,
}

struct Reader<'n> {
    trace: Trace,
    needs: &'n Needs,
    tracks: Tracks,
    rows: Rows<'n>,
    sequences: Map<u32, Sequence>,
    /// Slices that have begun, by writer and track.
    open: Map<(u32, u64), Vec<Slice>>,
    /// Running sums of series stored as differences.
    sums: Map<u64, f64>,
    packets: u64,
    events: u64,
    /// Packets that end in the middle.
    damaged: u64,
    /// Events without a usable time.
    timeless: u64,
    /// Ends of slices that never began.
    unbegun: u64,
    /// Places where the writer reports lost packets.
    lost: u64,
    /// Parts of the buffer that were dropped.
    discarded: u64,
}

impl<'n> Reader<'n> {
    fn new(input: &Input, needs: &'n Needs, identity: u64) -> Self {
        let mut trace = Trace::default();
        let path = input.path.to_string_lossy();
        let source = Source { bytes: input.bytes, ..Source::named(&path, input.format.name()) };
        let source = trace.add_source(source);
        let rows = Rows::new(needs, &mut trace);
        Self {
            trace,
            needs,
            tracks: Tracks::new(source, identity),
            rows,
            sequences: Map::default(),
            open: Map::default(),
            sums: Map::default(),
            packets: 0,
            events: 0,
            damaged: 0,
            timeless: 0,
            unbegun: 0,
            lost: 0,
            discarded: 0,
        }
    }

    /// Gives every packet to `take`, including those inside compressed ones; calls `tell` with the number of
    /// bytes left.
    fn packets(
        &mut self,
        bytes: &[u8],
        level: Level,
        take: &mut dyn FnMut(&mut Self, &Packet<'_>),
        tell: &mut dyn FnMut(usize),
    ) {
        let mut fields = Fields::of(bytes);
        while let Some((field, value)) = fields.next() {
            if field != 1 {
                continue;
            }
            let packet = Packet::of(value.bytes());
            self.damaged += u64::from(!packet.whole);
            match packet.compressed {
                None => take(self, &packet),
                Some(_) if level == Level::Unpacked => self.damaged += 1,
                Some(compressed) => {
                    let mut unpacked = Vec::new();
                    let unpack = flate2::read::ZlibDecoder::new(compressed).take(MOST_UNPACKED);
                    self.damaged += u64::from({ unpack }.read_to_end(&mut unpacked).is_err());
                    self.packets(&unpacked, Level::Unpacked, take, &mut |_| {});
                }
            }
            tell(fields.left());
        }
        self.damaged += u64::from(!fields.whole);
    }

    fn describe(&mut self, packet: &Packet<'_>) {
        if let Some(descriptor) = packet.descriptor {
            self.tracks.describe(descriptor, &mut self.trace);
        }
    }

    fn take(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        self.lost += u64::from(packet.dropped);
        for (_, buffer) in packet.statistics.into_iter().flat_map(Fields::of).filter(|(field, _)| *field == 1)
        {
            // `chunks_overwritten`, `chunks_discarded`, `trace_writer_packet_loss`
            let gone = Fields::of(buffer.bytes()).filter(|(field, _)| [3, 18, 19].contains(field));
            self.discarded += gone.map(|(_, count)| count.whole()).sum::<u64>();
        }
        let sequence = self.sequences.entry(packet.sequence).or_default();
        sequence.take(packet, &mut self.trace.strings);
        let Some(event) = packet.event else { return };
        self.events += 1;
        let event = Event::of(event);
        let Some(ns) = sequence.time(packet).filter(|&ns| are_believable(ns, ns)) else {
            self.timeless += 1;
            return;
        };
        let track = event.track.or(sequence.track).unwrap_or(0);
        let key = (packet.sequence, track);
        match event.kind {
            EventPhase::Begin => {
                let slice = slice(sequence, &event, ns, &mut self.trace);
                self.open.entry(key).or_default().push(slice);
            }
            EventPhase::End => self.end(key, ns),
            EventPhase::Instant => {
                let slice = slice(sequence, &event, ns, &mut self.trace);
                let place = self.tracks.place(track, &mut self.trace);
                self.rows.instant(&slice, &place, &mut self.tracks, &mut self.trace);
            }
            EventPhase::Counter => self.point(track, ns, event.value),
            EventPhase::Other => {}
        }
    }

    fn end(&mut self, key: (u32, u64), ns: Ns) {
        let Some(slice) = self.open.get_mut(&key).and_then(Vec::pop) else {
            self.unbegun += 1;
            return;
        };
        if !are_believable(slice.start, ns) {
            self.timeless += 1;
            return;
        }
        let place = self.tracks.place(key.1, &mut self.trace);
        self.rows.take(&slice, ns, &place, &mut self.tracks, &mut self.trace);
    }

    fn point(&mut self, track: u64, ns: Ns, value: Option<f64>) {
        let (Some(value), true) = (value, self.needs.samples) else { return };
        let place = self.tracks.place(track, &mut self.trace);
        if place.derived {
            return;
        }
        let mut value = value * place.factor;
        if place.incremental {
            let sum = self.sums.entry(track).or_default();
            *sum += value;
            value = *sum;
        }
        let kind = self.trace.strings.intern("counter");
        self.trace.samples.push(Sample {
            start: ns,
            end: ns,
            kind,
            name: place.name,
            value,
            unit: place.unit,
            process: place.process,
            agent: place.agent,
            ..Sample::default()
        });
    }

    fn finish(mut self) -> Trace {
        let endless: usize = self.open.values().map(Vec::len).sum();
        let lost = self.lost + self.discarded;
        self.trace.sources[0].frames_skipped = self.rows.frames;
        let checks = [
            ("damaged_rows", self.damaged, "packets are cut off"),
            ("damaged_rows", self.timeless, "events have no usable time and were left out"),
            ("unfinished", endless as u64, "slices never end and were left out"),
            ("unfinished", self.unbegun, "slices have an end but no start and were left out"),
            (
                "damaged_rows",
                self.rows.totals,
                "dispatches have process-wide counter sums, which were left out",
            ),
            ("lost_events", lost, "times the writer lost packets because its buffer was full"),
        ];
        for (id, count, what) in checks.into_iter().filter(|(_, count, _)| *count > 0) {
            self.trace.health.report(id, Status::Warn, Some(count as f64), format!("{count} {what}"));
        }
        self.trace
    }
}

/// The beginning of a slice, or an instant.
fn slice(sequence: &Sequence, event: &Event<'_>, start: Ns, trace: &mut Trace) -> Slice {
    let strings = &mut trace.strings;
    let mut notes = Vec::new();
    for (key, said) in event.annotations() {
        let note = match said {
            AnnotationValue::Nothing => continue,
            AnnotationValue::Whole(number) => Note::Whole(number),
            AnnotationValue::Number(number) => Note::Number(number),
            text => match sequence.text(text, strings) {
                Some(text) => Note::Text(text),
                None => continue,
            },
        };
        let key = sequence.key(key, strings);
        if key != StrId::EMPTY {
            notes.push((key, note));
        }
    }
    let (name, category) = (sequence.name(event.name, strings), sequence.category(event.category, strings));
    let flows = event.flows().filter(|(flow, _)| flow >> FORWARD_FLOWS == 1).collect();
    Slice { start, name, category, notes, flows }
}
