//! Changes to protobuf messages: fields at any depth, with lengths that fit again afterwards.

use std::ops::Range;

use super::Random;

#[derive(Clone)]
struct Field {
    number: u64,
    wire: u8,
    /// The number, or the payload.
    value: u64,
    payload: Range<usize>,
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// The fields of a message; `None` if the bytes are not a message.
fn fields(bytes: &[u8]) -> Option<Vec<Field>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let tag = varint(bytes, &mut at)?;
        let (number, wire) = (tag >> 3, (tag & 7) as u8);
        let from = at;
        let mut value = 0;
        match wire {
            0 => value = varint(bytes, &mut at)?,
            1 => at += 8,
            5 => at += 4,
            2 => {
                let length = varint(bytes, &mut at)?;
                let start = at;
                at = at.checked_add(usize::try_from(length).ok()?)?;
                if number == 0 || at > bytes.len() {
                    return None;
                }
                found.push(Field { number, wire, value, payload: start..at });
                continue;
            }
            _ => return None,
        }
        if number == 0 || at > bytes.len() {
            return None;
        }
        found.push(Field { number, wire, value, payload: from..at });
    }
    Some(found)
}

fn write(to: &mut Vec<u8>, field: &Field, payload: &[u8]) {
    put(to, field.number << 3 | u64::from(field.wire));
    match field.wire {
        0 => put(to, field.value),
        2 => {
            put(to, payload.len() as u64);
            to.extend_from_slice(payload);
        }
        _ => to.extend_from_slice(payload),
    }
}

pub fn change(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut fields = fields(bytes).filter(|fields| !fields.is_empty())?;
    let which = random.below(fields.len());
    let chosen = fields[which].clone();
    let inside = &bytes[chosen.payload.clone()];
    // In most cases, change a nested message if there is one.
    let mut payload = None;
    if chosen.wire == 2 && random.below(8) > 0 {
        payload = change(inside, random);
    }
    if payload.is_none() {
        match (random.below(7), chosen.wire) {
            (0, _) => drop(fields.remove(which)),
            (1, _) => fields.insert(which, chosen),
            (2, _) => {
                let other = random.below(fields.len());
                fields.swap(which, other);
            }
            (3, _) => fields[which].number = 1 + random.next() % 40,
            (_, 0) => {
                let edge = random.edge();
                let number = edge.parse::<i64>().map(|value| value as u64);
                fields[which].value = number.or(edge.parse::<u64>()).unwrap_or(random.next() % 100);
            }
            (_, 2) => {
                let mut text = inside.to_vec();
                match random.below(4) {
                    0 => text.truncate(random.below(text.len())),
                    1 => text.extend_from_slice(inside),
                    2 => text.clear(),
                    _ => text.push(random.next() as u8),
                }
                payload = Some(text);
            }
            _ => {
                let mut fixed = inside.to_vec();
                let at = random.below(fixed.len());
                fixed[at] = random.next() as u8;
                payload = Some(fixed);
            }
        }
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    for (i, field) in fields.iter().enumerate() {
        match &payload {
            Some(payload) if i == which => write(&mut out, field, payload),
            _ => write(&mut out, field, &bytes[field.payload.clone()]),
        }
    }
    Some(out)
}
