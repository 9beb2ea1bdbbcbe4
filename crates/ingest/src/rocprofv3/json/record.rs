//! One record of any list: the fields that tables need, wherever they are in it.

use memchr::memmem;

use crate::json::{Cursor, Damage};
use crate::rocprofv3::number::whole;

/// The fields of a record; absent ones are `None`.
#[derive(Clone, Debug, Default)]
pub(super) struct Record<'a> {
    pub kind: Option<i64>,
    pub operation: Option<i64>,
    pub thread: Option<i64>,
    pub correlation: Correlation,
    pub start: Option<i64>,
    pub end: Option<i64>,
    /// PC samples.
    pub timestamp: Option<i64>,
    pub agent: Option<i64>,
    pub src_agent: Option<i64>,
    pub dst_agent: Option<i64>,
    pub src_address: Option<i64>,
    pub dst_address: Option<i64>,
    pub queue: Option<i64>,
    pub stream: Option<i64>,
    pub kernel: Option<i64>,
    pub dispatch: Option<i64>,
    pub private_segment: Option<i64>,
    pub group_segment: Option<i64>,
    pub workgroup: Option<[u32; 3]>,
    pub grid: Option<[u32; 3]>,
    pub bytes: Option<i64>,
    pub allocation: Option<i64>,
    pub address: Option<i64>,
    pub graph: Option<i64>,
    pub graph_node: Option<i64>,
    /// Index into the instructions of PC samples.
    pub instruction: Option<i64>,
    pub code_object: Option<i64>,
    pub code_offset: Option<i64>,
    /// Counter values, as JSON.
    pub counters: &'a [u8],
    /// Other fields of a PC sample, as JSON.
    pub details: Vec<(&'a [u8], &'a [u8])>,
}

/// The ids that link calls and GPU work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Correlation {
    pub internal: Option<i64>,
    pub external: Option<i64>,
    pub ancestor: Option<i64>,
}

/// Reads every record of a list; returns how many were damaged and skipped.
pub(super) fn records<'a>(list: &'a [u8], mut take: impl FnMut(&Record<'a>)) -> u64 {
    let mut record = Record::default();
    each(list, |json| {
        record = Record { details: std::mem::take(&mut record.details), ..Record::default() };
        record.details.clear();
        fill(json, &mut record, 0)?;
        take(&record);
        Ok(())
    })
}

/// Calls `read` at every element of a list; after damage it continues at the next element that begins like
/// the first. Returns how many were damaged, not counting one that is cut off by the end of the file.
pub(super) fn each<'a>(list: &'a [u8], mut read: impl FnMut(&mut Cursor<'a>) -> Result<(), Damage>) -> u64 {
    let mut json = Cursor::new(list);
    let Ok(mut elements) = json.array() else { return 0 };
    json.skip_whitespace();
    let opening = opening(&list[json.pos()..]);
    let mut damaged = 0;
    loop {
        let at = json.pos();
        let step = elements
            .next(&mut json)
            .and_then(|more| if more { read(&mut json).map(|()| true) } else { Ok(false) });
        match step {
            Ok(true) => {}
            Ok(false) => return damaged,
            Err(_) => {
                let rest = list.get(at + 1..).unwrap_or_default();
                let Some(next) = next_like(rest, opening) else {
                    return damaged + u64::from(list.ends_with(b"]"));
                };
                damaged += 1;
                json.seek(at + 1 + next);
                // The cursor is before the comma, as after any element.
            }
        }
    }
}

/// `{"size":` of the first element.
fn opening(from: &[u8]) -> &[u8] {
    let colon = memchr::memchr(b':', from).map_or(0, |colon| colon + 1);
    &from[..colon.min(64)]
}

/// The comma before the next element that begins with `opening`.
fn next_like(rest: &[u8], opening: &[u8]) -> Option<usize> {
    if opening.is_empty() {
        return None;
    }
    memmem::find_iter(rest, opening).find_map(|at| {
        let comma = rest[..at].trim_ascii_end().len().checked_sub(1)?;
        (rest[comma] == b',').then_some(comma)
    })
}

/// Records nest `dispatch_data`, `dispatch_info`, `record`, `pc` and so on, whose keys do not collide.
const DEEPEST: u32 = 6;

fn fill<'a>(json: &mut Cursor<'a>, record: &mut Record<'a>, depth: u32) -> Result<(), Damage> {
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        match key.raw {
            b"size" => json.skip_value()?,
            b"kind" => record.kind = number(json)?,
            b"operation" => record.operation = number(json)?,
            b"thread_id" => record.thread = number(json)?,
            b"correlation_id" | b"corr_id" => record.correlation = correlation(json)?,
            b"start_timestamp" => record.start = number(json)?,
            b"end_timestamp" => record.end = number(json)?,
            b"timestamp" => record.timestamp = number(json)?,
            b"agent_id" => record.agent = number(json)?,
            b"queue_id" => record.queue = number(json)?,
            b"stream_id" => record.stream = number(json)?,
            b"kernel_id" => record.kernel = number(json)?,
            b"dispatch_id" => record.dispatch = number(json)?,
            b"private_segment_size" => record.private_segment = number(json)?,
            b"group_segment_size" => record.group_segment = number(json)?,
            b"workgroup_size" => record.workgroup = three(json)?,
            b"grid_size" => record.grid = three(json)?,
            b"src_agent_id" => record.src_agent = number(json)?,
            b"dst_agent_id" => record.dst_agent = number(json)?,
            b"src_address" => record.src_address = number(json)?,
            b"dst_address" => record.dst_address = number(json)?,
            b"bytes" => record.bytes = number(json)?,
            b"allocation_size" => record.allocation = number(json)?,
            b"address" => record.address = number(json)?,
            b"graph_exec_id" => record.graph = number(json)?,
            b"graph_node_id" => record.graph_node = number(json)?,
            b"inst_index" => record.instruction = number(json)?,
            b"code_object_id" => record.code_object = number(json)?,
            b"code_object_offset" => record.code_offset = number(json)?,
            b"records" => record.counters = json.raw_value()?,
            b"dispatch_data" | b"dispatch_info" | b"record" | b"pc"
                if depth < DEEPEST && json.peek() == Some(b'{') =>
            {
                fill(json, record, depth + 1)?
            }
            // PC samples nest their fields in `record`; other fields are kept for callers that request them.
            name if depth == 1 => record.details.push((name, json.raw_value()?)),
            _ => json.skip_value()?,
        }
    }
    Ok(())
}

/// A number, or the number inside `{"handle": n}`.
#[inline]
pub(super) fn number(json: &mut Cursor<'_>) -> Result<Option<i64>, Damage> {
    match json.peek() {
        Some(b'{') => {
            let mut value = None;
            let mut keys = json.object()?;
            while let Some(key) = keys.next(json)? {
                match key.raw {
                    b"handle" | b"value" => value = number(json)?,
                    _ => json.skip_value()?,
                }
            }
            Ok(value)
        }
        Some(b'[') => json.skip_value().map(|()| None),
        _ => json.scalar().map(whole),
    }
}

fn correlation(json: &mut Cursor<'_>) -> Result<Correlation, Damage> {
    let mut correlation = Correlation::default();
    if json.peek() != Some(b'{') {
        correlation.internal = number(json)?;
        return Ok(correlation);
    }
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        match key.raw {
            b"internal" => correlation.internal = number(json)?,
            b"external" => correlation.external = number(json)?,
            b"ancestor" => correlation.ancestor = number(json)?,
            _ => json.skip_value()?,
        }
    }
    Ok(correlation)
}

fn three(json: &mut Cursor<'_>) -> Result<Option<[u32; 3]>, Damage> {
    if json.peek() != Some(b'{') {
        return json.skip_value().map(|()| None);
    }
    let mut sizes = [None; 3];
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        let place = match key.raw {
            b"x" => 0,
            b"y" => 1,
            b"z" => 2,
            _ => {
                json.skip_value()?;
                continue;
            }
        };
        sizes[place] = number(json)?.and_then(|size| u32::try_from(size).ok());
    }
    Ok(match sizes {
        [Some(x), Some(y), Some(z)] => Some([x, y, z]),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_record_costs_itself_only() {
        let good = r#"{"size": 1, "kind": 7, "dispatch_info": {"size": 2, "kernel_id": 3}}"#;
        for bad in [r#"{"size": 1, "kind" 7}"#, r#"{"size": 1, "kind": {"#, r#"{"size": , "kind": 7}"#, "x"] {
            let list = format!("[{good}, {bad}, {good},{good}]");
            let mut seen = 0;
            let damaged = records(list.as_bytes(), |record| {
                seen += i32::from(record.kind == Some(7) && record.kernel == Some(3));
            });
            assert_eq!((seen, damaged), (3, 1), "{bad}");
        }
    }

    #[test]
    fn a_cut_list_gives_what_is_whole() {
        let one = r#"{"size":1,"kind":7}"#;
        let list = format!("[{one},{one},{one}]");
        for cut in 0..list.len() {
            let mut seen = 0;
            records(&list.as_bytes()[..cut], |_| seen += 1);
            assert_eq!(
                seen,
                cut.saturating_sub(1 + one.len() - 1).div_ceil(one.len() + 1).min(3),
                "cut at {cut}"
            );
        }
    }
}
