//! One object of the Inspector's output.

use crate::json::{Cursor, Damage, integer, micros};

/// A collective, or a send or receive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operation<'a> {
    pub group: &'a [u8],
    pub rank: Option<u32>,
    pub ranks: Option<i64>,
    pub host: &'a [u8],
    pub pid: Option<i64>,
    pub version: &'a [u8],
    pub name: &'a [u8],
    pub sequence: Option<i64>,
    pub bytes: Option<i64>,
    pub time_ns: Option<i64>,
    pub peer: Option<i64>,
    pub start: Option<i64>,
}

impl<'a> Operation<'a> {
    /// Reads an object; `None` if it is complete but has no operation.
    pub fn read(json: &mut Cursor<'a>) -> Result<Option<Self>, Damage> {
        let mut operation = Self::default();
        let mut keys = json.object()?;
        while let Some(key) = keys.next(json)? {
            match key.raw {
                b"header" => operation.header(json)?,
                b"metadata" => operation.metadata(json)?,
                b"coll_perf" | b"p2p_perf" => operation.perf(json)?,
                _ => json.skip_value()?,
            }
        }
        Ok(Some(operation).filter(|operation| !operation.name.is_empty()))
    }

    fn header(&mut self, json: &mut Cursor<'a>) -> Result<(), Damage> {
        let mut keys = json.object()?;
        while let Some(key) = keys.next(json)? {
            match key.raw {
                b"id" => self.group = json.scalar()?,
                b"rank" => self.rank = integer(json.scalar()?).and_then(|rank| u32::try_from(rank).ok()),
                b"n_ranks" => self.ranks = integer(json.scalar()?),
                _ => json.skip_value()?,
            }
        }
        Ok(())
    }

    fn metadata(&mut self, json: &mut Cursor<'a>) -> Result<(), Damage> {
        let mut keys = json.object()?;
        while let Some(key) = keys.next(json)? {
            match key.raw {
                b"hostname" => self.host = json.scalar()?,
                b"pid" => self.pid = integer(json.scalar()?),
                b"inspector_output_format_version" => self.version = json.scalar()?,
                _ => json.skip_value()?,
            }
        }
        Ok(())
    }

    fn perf(&mut self, json: &mut Cursor<'a>) -> Result<(), Damage> {
        let mut keys = json.object()?;
        while let Some(key) = keys.next(json)? {
            match key.raw {
                b"coll" | b"p2p" => self.name = json.scalar()?,
                b"coll_sn" | b"p2p_sn" => self.sequence = integer(json.scalar()?),
                b"coll_msg_size_bytes" | b"p2p_msg_size_bytes" => self.bytes = integer(json.scalar()?),
                b"coll_exec_time_us" | b"p2p_exec_time_us" => self.time_ns = micros(json.scalar()?),
                b"p2p_peer" => self.peer = integer(json.scalar()?),
                b"event_trace_ts" => self.times(json)?,
                _ => json.skip_value()?,
            }
        }
        Ok(())
    }

    /// The first start of a kernel; the call's if no kernel has one.
    fn times(&mut self, json: &mut Cursor<'a>) -> Result<(), Damage> {
        let mut call = None;
        let mut keys = json.object()?;
        while let Some(key) = keys.next(json)? {
            match key.raw {
                b"coll_start_ts" | b"p2p_start_ts" => call = micros(json.scalar()?),
                b"kernel_events" => {
                    let mut events = json.array()?;
                    while events.next(json)? {
                        let mut keys = json.object()?;
                        while let Some(key) = keys.next(json)? {
                            if key.raw == b"kernel_start_ts" {
                                let start = micros(json.scalar()?).filter(|start| *start > 0);
                                self.start = match (self.start, start) {
                                    (Some(known), Some(start)) => Some(known.min(start)),
                                    (known, start) => known.or(start),
                                };
                            } else {
                                json.skip_value()?;
                            }
                        }
                    }
                }
                _ => json.skip_value()?,
            }
        }
        self.start = self.start.or(call);
        Ok(())
    }
}
