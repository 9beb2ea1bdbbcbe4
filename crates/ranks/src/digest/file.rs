//! The bytes of a digest: a header with version and checksum, then its fields, compressed.
//!
//! ```text
//! "rpdigest" │ version (2) │ length (4) │ checksum (8) │ zstd of the fields
//! ```

use rapidhash::v3::rapidhash_v3;

use super::codec::{Malformed, Reader, Writer};
use super::{
    Account, Clock, Collective, Digest, Group, IDLE_CAUSES, Identity, JobPosition, NONE, NameStats, Problem,
    Sketch, Step,
};
use crate::operation::Operation;

const MAGIC: &[u8; 8] = b"rpdigest";
const HEADER: usize = 8 + 2 + 4 + 8;

/// The version of the format that this program writes and the newest that it reads.
pub const VERSION: u16 = 1;

/// More bytes of fields than any digest has: a length above it means damage.
const MOST_BYTES: usize = 1 << 30;
const LEVEL: i32 = 3;

/// Why a digest cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The file is not a digest.
    #[error("it is not a digest")]
    NoDigest,
    /// Written by a later program.
    #[error(
        "it has version {0} of the digest format, and this program reads up to version {VERSION}: use a newer rocm-perf"
    )]
    Newer(u16),
    /// Cut or changed.
    #[error("the digest is damaged: {0}")]
    Damaged(&'static str),
}

impl From<Malformed> for DigestError {
    fn from(_: Malformed) -> Self {
        DigestError::Damaged("its fields make no sense")
    }
}

/// Whether a file begins as digests do.
pub fn is_digest(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The bytes of a digest.
pub fn encode(digest: &Digest) -> Vec<u8> {
    let mut fields = Writer::default();
    write(&mut fields, digest);
    let packed = zstd::bulk::compress(&fields.bytes, LEVEL).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEADER + packed.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(fields.bytes.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&rapidhash_v3(&packed).to_le_bytes());
    bytes.extend_from_slice(&packed);
    bytes
}

/// The digest behind bytes.
pub fn decode(bytes: &[u8]) -> Result<Digest, DigestError> {
    if !is_digest(bytes) {
        return Err(DigestError::NoDigest);
    }
    let cut = DigestError::Damaged("it ends early");
    let (header, packed) = bytes.split_at_checked(HEADER).ok_or(cut)?;
    let version = u16::from_le_bytes([header[8], header[9]]);
    if version > VERSION {
        return Err(DigestError::Newer(version));
    }
    let length = u32::from_le_bytes([header[10], header[11], header[12], header[13]]) as usize;
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&header[14..22]);
    if rapidhash_v3(packed) != u64::from_le_bytes(checksum) {
        return Err(DigestError::Damaged("its checksum is wrong"));
    }
    if length > MOST_BYTES {
        return Err(DigestError::Damaged("its length makes no sense"));
    }
    let fields = zstd::bulk::decompress(packed, length)
        .map_err(|_| DigestError::Damaged("it cannot be decompressed"))?;
    if fields.len() != length {
        return Err(DigestError::Damaged("its length is wrong"));
    }
    let mut reader = Reader::new(&fields);
    let digest = read(&mut reader)?;
    if reader.is_done() { Ok(digest) } else { Err(Malformed.into()) }
}

fn write(to: &mut Writer, digest: &Digest) {
    write_identity(to, &digest.identity);
    to.list(&digest.groups, |to, group| {
        to.text(&group.name);
        to.text(&group.description);
        to.optional(group.size.map(i64::from));
        to.list(&group.ranks, |to, &rank| to.number(u64::from(rank)));
    });
    to.optional(digest.span.map(|span| span.0));
    to.optional(digest.span.map(|span| span.1));
    write_steps(to, &digest.steps);
    write_collectives(to, &digest.collectives);
    to.list(&digest.kernels, write_stats);
    to.list(&digest.ops, write_stats);
    to.list(&digest.traffic, |to, &(rank, bytes)| {
        to.number(u64::from(rank));
        to.number(bytes);
    });
    let account = &digest.account;
    for ns in [account.compute_ns, account.communication_ns, account.exposed_ns, account.copy_ns] {
        to.signed(ns);
    }
    to.list(&account.idle_ns, |to, &ns| to.signed(ns));
    to.number(digest.clock.map_or(0, |clock| clock.samples));
    to.number(digest.clock.map_or(0.0f64, |clock| clock.mean_mhz).to_bits());
    to.list(&digest.health, |to, problem| {
        to.text(&problem.id);
        to.number(u64::from(problem.is_failure));
        to.text(&problem.message);
    });
}

fn read(from: &mut Reader) -> Result<Digest, DigestError> {
    let identity = read_identity(from)?;
    let groups = from.list(|from| {
        Ok(Group {
            name: from.text()?,
            description: from.text()?,
            size: from.optional()?.and_then(|size| u32::try_from(size).ok()),
            ranks: from.list(Reader::small)?,
        })
    })?;
    let span = from.optional()?.zip(from.optional()?);
    let steps = read_steps(from)?;
    let collectives = read_collectives(from, groups.len())?;
    let (kernels, ops) = (from.list(read_stats)?, from.list(read_stats)?);
    let traffic = from.list(|from| Ok((from.small()?, from.number()?)))?;
    let mut account = Account {
        compute_ns: from.signed()?,
        communication_ns: from.signed()?,
        exposed_ns: from.signed()?,
        copy_ns: from.signed()?,
        ..Account::default()
    };
    let idle = from.list(Reader::signed)?;
    account.idle_ns.iter_mut().zip(idle.into_iter().take(IDLE_CAUSES)).for_each(|(to, ns)| *to = ns);
    let (samples, mhz) = (from.number()?, f64::from_bits(from.number()?));
    let clock = (samples > 0 && mhz.is_finite()).then_some(Clock { mean_mhz: mhz, samples });
    let health = from.list(|from| {
        Ok(Problem { id: from.text()?, is_failure: from.number()? == 1, message: from.text()? })
    })?;
    Ok(Digest { identity, groups, span, steps, collectives, kernels, ops, traffic, account, clock, health })
}

fn write_identity(to: &mut Writer, identity: &Identity) {
    let numbers = [
        identity.rank.map(i64::from),
        identity.gpu.map(i64::from),
        Some(identity.pid),
        Some(identity.bytes as i64),
        Some(identity.modified_ns),
        Some(i64::from(identity.parts)),
        identity.world_size.map(i64::from),
        identity.place.pipeline.map(i64::from),
        identity.place.data.map(i64::from),
        identity.place.tensor.map(i64::from),
        identity.place.expert.map(i64::from),
        Some(i64::from(identity.only_collectives)),
    ];
    numbers.into_iter().for_each(|number| to.optional(number));
    let texts = [
        &identity.host,
        &identity.guid,
        &identity.source,
        &identity.format,
        &identity.architecture,
        &identity.product,
    ];
    texts.into_iter().for_each(|text| to.text(text));
    to.list(&identity.variables, |to, (name, value)| {
        to.text(name);
        to.text(value);
    });
}

fn read_identity(from: &mut Reader) -> Result<Identity, Malformed> {
    let mut numbers = [None; 12];
    for number in &mut numbers {
        *number = from.optional()?;
    }
    let small = |place: usize| numbers[place].and_then(|number| u32::try_from(number).ok());
    let whole = |place: usize| numbers[place].unwrap_or(0);
    Ok(Identity {
        rank: small(0),
        gpu: small(1),
        pid: whole(2),
        bytes: whole(3) as u64,
        modified_ns: whole(4),
        parts: small(5).unwrap_or(1),
        world_size: small(6),
        place: JobPosition { pipeline: small(7), data: small(8), tensor: small(9), expert: small(10) },
        only_collectives: whole(11) == 1,
        host: from.text()?,
        guid: from.text()?,
        source: from.text()?,
        format: from.text()?,
        architecture: from.text()?,
        product: from.text()?,
        variables: from.list(|from| Ok((from.text()?, from.text()?)))?,
    })
}

fn write_steps(to: &mut Writer, steps: &[Step]) {
    to.number(steps.len() as u64);
    to.column(steps.iter().map(|step| step.start));
    to.column(steps.iter().map(|step| step.end.wrapping_sub(step.start)));
    to.column(steps.iter().map(|step| step.compute_ns));
    to.column(steps.iter().map(|step| step.communication_ns));
    to.column(steps.iter().map(|step| step.exposed_ns));
    to.column(steps.iter().map(|step| step.idle_ns));
    to.column(steps.iter().map(|step| step.kernels as i64));
}

fn read_steps(from: &mut Reader) -> Result<Vec<Step>, Malformed> {
    let mut steps = vec![Step::default(); from.length()?];
    from.column(&mut steps, |step, value| step.start = value)?;
    from.column(&mut steps, |step, value| step.end = step.start.wrapping_add(value))?;
    from.column(&mut steps, |step, value| step.compute_ns = value)?;
    from.column(&mut steps, |step, value| step.communication_ns = value)?;
    from.column(&mut steps, |step, value| step.exposed_ns = value)?;
    from.column(&mut steps, |step, value| step.idle_ns = value)?;
    from.column(&mut steps, |step, value| step.kernels = value as u64)?;
    Ok(steps)
}

fn write_collectives(to: &mut Writer, all: &[Collective]) {
    to.number(all.len() as u64);
    to.column(all.iter().map(|row| row.start));
    to.column(all.iter().map(|row| row.time_ns));
    to.column(all.iter().map(|row| row.sequence));
    to.column(all.iter().map(|row| row.bytes));
    to.column(all.iter().map(|row| row.compute_ns));
    to.column(all.iter().map(|row| row.exposed_ns));
    to.column(all.iter().map(|row| row.tail_ns));
    to.column(all.iter().map(|row| i64::from(row.peer)));
    to.column(all.iter().map(|row| i64::from(row.step)));
    to.column(all.iter().map(|row| i64::from(row.group)));
    to.column(all.iter().map(|row| i64::from(row.stream)));
    to.column(all.iter().map(|row| row.operation as i64));
}

fn read_collectives(from: &mut Reader, groups: usize) -> Result<Vec<Collective>, Malformed> {
    let mut all = vec![Collective::default(); from.length()?];
    let mut is_sound = true;
    from.column(&mut all, |row, value| row.start = value)?;
    from.column(&mut all, |row, value| row.time_ns = value)?;
    from.column(&mut all, |row, value| row.sequence = value)?;
    from.column(&mut all, |row, value| row.bytes = value)?;
    from.column(&mut all, |row, value| row.compute_ns = value)?;
    from.column(&mut all, |row, value| row.exposed_ns = value)?;
    from.column(&mut all, |row, value| row.tail_ns = value)?;
    from.column(&mut all, |row, value| row.peer = u32::try_from(value).unwrap_or(NONE))?;
    from.column(&mut all, |row, value| row.step = u32::try_from(value).unwrap_or(NONE))?;
    from.column(&mut all, |row, value| {
        row.group = u16::try_from(value).unwrap_or(u16::MAX);
        is_sound &= usize::from(row.group) < groups;
    })?;
    from.column(&mut all, |row, value| row.stream = u16::try_from(value).unwrap_or(u16::MAX))?;
    from.column(&mut all, |row, value| {
        let operation = usize::try_from(value).ok().and_then(|number| Operation::ALL.get(number));
        is_sound &= operation.is_some();
        row.operation = operation.copied().unwrap_or_default();
    })?;
    if is_sound { Ok(all) } else { Err(Malformed) }
}

fn write_stats(to: &mut Writer, stats: &NameStats) {
    to.text(&stats.name);
    to.text(&stats.category);
    to.number(stats.count);
    to.signed(stats.total_ns);
    to.signed(stats.min_ns);
    to.signed(stats.max_ns);
    to.number(stats.work_items);
    to.list(&stats.sketch.buckets, |to, &(bucket, count)| {
        to.number(u64::from(bucket));
        to.number(count);
    });
}

fn read_stats(from: &mut Reader) -> Result<NameStats, Malformed> {
    Ok(NameStats {
        name: from.text()?,
        category: from.text()?,
        count: from.number()?,
        total_ns: from.signed()?,
        min_ns: from.signed()?,
        max_ns: from.signed()?,
        work_items: from.number()?,
        sketch: Sketch { buckets: from.list(|from| Ok((from.small()?, from.number()?)))? },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest() -> Digest {
        let mut stats = NameStats { name: "gemm".into(), count: 2, total_ns: 30, ..NameStats::default() };
        stats.sketch.add(10);
        stats.sketch.add(20);
        Digest {
            identity: Identity {
                rank: Some(3),
                host: "node1".into(),
                parts: 1,
                variables: vec![("SLURM_JOB_ID".into(), "42".into())],
                ..Identity::default()
            },
            groups: vec![Group { name: "tp".into(), ranks: vec![0, 3], size: Some(2), ..Group::default() }],
            span: Some((-5, 1_000_000)),
            steps: vec![Step { start: 7, end: 900, compute_ns: 60, kernels: 2, ..Step::default() }],
            collectives: vec![
                Collective { start: 50, time_ns: 9, sequence: 0, bytes: 1 << 40, ..Collective::default() },
                Collective { step: 1, operation: Operation::Barrier, ..Collective::default() },
            ],
            kernels: vec![stats],
            traffic: vec![(0, 5), (3, 1 << 33)],
            clock: Some(Clock { mean_mhz: 2099.5, samples: 4 }),
            health: vec![Problem { id: "truncated".into(), is_failure: true, message: "cut".into() }],
            ..Digest::default()
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let bytes = encode(&digest());
        assert!(is_digest(&bytes));
        assert_eq!(decode(&bytes), Ok(digest()));
        assert_eq!(
            decode(&encode(&Digest {
                identity: Identity { parts: 1, ..Identity::default() },
                ..Digest::default()
            }))
            .map(|d| d.steps),
            Ok(vec![])
        );
    }

    #[test]
    fn other_newer_and_damaged_files_are_refused_by_name() {
        let bytes = encode(&digest());
        assert_eq!(decode(b"{\"traceEvents\": []}"), Err(DigestError::NoDigest));
        let mut newer = bytes.clone();
        newer[8] = 9;
        assert_eq!(decode(&newer), Err(DigestError::Newer(9)));
        assert!(DigestError::Newer(9).to_string().contains("version 9"));
        for end in 8..bytes.len() {
            assert!(matches!(decode(&bytes[..end]), Err(DigestError::Damaged(_))), "cut at {end}");
        }
        for place in 10..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x55;
            assert!(decode(&changed).is_err(), "changed at {place}");
        }
    }
}
