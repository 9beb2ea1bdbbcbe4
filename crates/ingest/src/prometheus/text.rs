//! The text format: `name{label="value",…} 12.5 1700000000000`, times in milliseconds.

use super::{Reader, nanoseconds};

/// Whether a text begins with metrics.
pub(crate) fn is_metrics(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_described = |line: &str| line.starts_with("# HELP ") || line.starts_with("# TYPE ");
    let Some(first) = lines.next() else { return false };
    if is_described(first) {
        return true;
    }
    let mut values = std::iter::once(first).chain(lines).filter(|line| !line.starts_with('#'));
    // The last line may be cut off at the end of the head.
    values.next().and_then(Line::of).is_some_and(|line| !line.labels.is_empty() && line.value.is_some())
}

/// Reads all lines.
pub(super) fn read(bytes: &[u8], reader: &mut Reader) {
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match Line::of(line) {
            Some(line) => reader.take(line.name, &line.labels, line.time_ns, line.value),
            None => reader.lost += 1,
        }
    }
}

struct Line<'t> {
    name: &'t str,
    labels: String,
    value: Option<f64>,
    time_ns: Option<i64>,
}

impl<'t> Line<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let end = line.find(|c| !is_name(c))?;
        let (name, rest) = line.split_at(end);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (String::new(), rest),
        };
        let mut words = rest.split_whitespace();
        let value = words.next()?.parse().ok().filter(|value: &f64| value.is_finite());
        let time: Option<f64> = words.next().and_then(|time| time.parse().ok());
        let time_ns = time.and_then(|time| nanoseconds(time, 1e3));
        words.next().is_none().then_some(Self { name, labels, value, time_ns })
    }
}

/// `a="x",b="y"} rest` as `a=x,b=y` and the rest.
fn labels(mut text: &str) -> Option<(String, &str)> {
    let mut labels = String::new();
    loop {
        text = text.trim_start_matches([',', ' ']);
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (key, rest) = text.split_once("=\"")?;
        let (mut value, mut escaped, mut end) = (String::new(), false, None);
        for (place, letter) in rest.char_indices() {
            match letter {
                _ if escaped => {
                    value.push(if letter == 'n' { '\n' } else { letter });
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    end = Some(place + 1);
                    break;
                }
                _ => value.push(letter),
            }
        }
        text = &rest[end?..];
        if !labels.is_empty() {
            labels.push(',');
        }
        labels += &format!("{}={value}", key.trim());
    }
}
