//! The report of `requests`.

use report::chart::{Axis, Bar, Bars, Chart, Mark, Series};
use report::{Column, Note, Report, Table, Unit, Value, show};
use stats::rounded_mean;
use trace::Trace;

use super::{Parts, RequestTimes, Requests};
use crate::base;

/// Most requests in the chart.
const MOST_BARS: usize = 24;

/// The whole report.
pub fn present(trace: &Trace, requests: &Requests) -> Report {
    let mut report = base::report("requests", trace);
    report.tables = vec![latency(requests), table(requests), servers(requests)];
    report.tables.retain(|table| !table.rows.is_empty());
    report.charts.extend(chart(requests));
    report.notes = notes(requests);
    report
}

/// The parts of a time; the part not recorded is only shown if there is any.
fn part_columns(has_gaps: bool) -> Vec<Column> {
    let not_recorded = Column::int("not_recorded_ns", Unit::Ns);
    vec![
        Column::int("gpu_ns", Unit::Ns).key(),
        Column::int("transfer_ns", Unit::Ns).key(),
        Column::int("queue_ns", Unit::Ns).key(),
        Column::int("host_ns", Unit::Ns).key(),
        if has_gaps { not_recorded.normal() } else { not_recorded.data() },
    ]
}

fn generation_columns(has_gaps: bool) -> Vec<Column> {
    let not_recorded = Column::int("generation_not_recorded_ns", Unit::Ns);
    vec![
        Column::int("generation_ns", Unit::Ns).detail(),
        Column::int("generation_gpu_ns", Unit::Ns).detail(),
        Column::int("generation_transfer_ns", Unit::Ns).detail(),
        Column::int("generation_queue_ns", Unit::Ns).detail(),
        Column::int("generation_host_ns", Unit::Ns).detail(),
        if has_gaps { not_recorded.detail() } else { not_recorded.data() },
    ]
}

fn part_cells(parts: &Result<Parts, String>) -> Vec<Value> {
    let cell = |ns: fn(&Parts) -> i64| match parts {
        Ok(parts) => Value::Int(ns(parts)),
        Err(why) => Value::absent(why),
    };
    vec![
        cell(|parts| parts.gpu_ns),
        cell(|parts| parts.transfer_ns),
        cell(|parts| parts.queue_ns),
        cell(|parts| parts.host_ns),
        cell(|parts| parts.not_recorded_ns),
    ]
}

fn total(parts: &Result<Parts, String>) -> Value {
    match parts {
        Ok(parts) => Value::Int(parts.total()),
        Err(why) => Value::absent(why),
    }
}

/// The value below which this share of the sorted values lies.
fn quantile(sorted: &[i64], share: f64) -> i64 {
    sorted[((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len()) - 1]
}

/// The table `latency`: all requests together; the parts of a row add up to its total.
fn latency(requests: &Requests) -> Table {
    let mut columns = vec![
        Column::text("measure").key(),
        Column::int("count", Unit::None).key(),
        Column::int("mean_ns", Unit::Ns).key(),
        Column::int("median_ns", Unit::Ns),
        Column::int("p99_ns", Unit::Ns),
        Column::int("total_ns", Unit::Ns).key(),
    ];
    columns.extend(part_columns(requests.has_gaps()));
    let mut table = Table::new("latency", "Time to the first token and per further token", columns);
    let sum = |of: fn(&RequestTimes) -> &Result<Parts, String>| {
        let mut sum = Parts::default();
        requests
            .requests
            .iter()
            .filter_map(|request| of(request).as_ref().ok())
            .for_each(|parts| sum.add(parts));
        sum
    };
    let firsts = requests.requests.iter().filter_map(|request| request.first_token.as_ref().ok());
    let mut first_ns: Vec<i64> = firsts.map(Parts::total).collect();
    let mut token_ns: Vec<i64> =
        requests.requests.iter().flat_map(|request| request.token_ns.iter().copied()).collect();
    let mut row = |measure: &str, times: &mut Vec<i64>, sum: Parts| {
        if times.is_empty() {
            return;
        }
        times.sort_unstable();
        let mut cells = vec![
            Value::from(measure),
            Value::Int(times.len() as i64),
            Value::Int(rounded_mean(sum.total(), times.len())),
            Value::Int(quantile(times, 0.5)),
            Value::Int(quantile(times, 0.99)),
            Value::Int(sum.total()),
        ];
        cells.extend(part_cells(&Ok(sum)));
        table.push(cells);
    };
    row("time to first token", &mut first_ns, sum(|request| &request.first_token));
    row("time per token", &mut token_ns, sum(|request| &request.generation));
    table
}

/// The table `requests`: the parts of each request add up to its time to first token and to its generation.
fn table(requests: &Requests) -> Table {
    let mut columns = vec![
        Column::text("request").key(),
        Column::int("arrival_ns", Unit::Ns),
        Column::int("first_token_ns", Unit::Ns).key(),
    ];
    columns.extend(part_columns(requests.has_gaps()));
    columns.push(Column::int("tokens", Unit::None).key());
    columns.push(Column::int("per_token_ns", Unit::Ns).key());
    columns.extend(generation_columns(requests.has_gaps()));
    let mut table = Table::new("requests", "Requests", columns);
    let first = requests.requests.first().map_or(0, |request| request.arrival_ns);
    for request in &requests.requests {
        let mut cells = vec![
            Value::from(request.id.as_str()),
            Value::Int(request.arrival_ns - first),
            total(&request.first_token),
        ];
        cells.extend(part_cells(&request.first_token));
        let tokens = request.token_ns.len();
        let why = "the trace has no span for each token";
        let per_token = match &request.generation {
            Err(why) => Value::absent(why),
            Ok(_) if tokens == 0 => Value::absent(why),
            Ok(parts) => Value::Int(rounded_mean(parts.total(), tokens)),
        };
        cells.push(Value::int_or((tokens > 0).then_some(tokens as i64 + 1), why));
        cells.push(per_token);
        cells.push(total(&request.generation));
        cells.extend(part_cells(&request.generation));
        table.push(cells);
    }
    table
}

/// The table `servers`: each server on its own clock; the parts add up to its span.
fn servers(requests: &Requests) -> Table {
    let time = |key: &str| Column::int(key, Unit::Ns).key();
    let columns = vec![
        Column::text("role").key(),
        Column::text("server").key(),
        Column::int("requests", Unit::None).key(),
        time("span_ns"),
        time("gpu_ns"),
        time("host_ns"),
        time("transfer_ns"),
        time("queue_ns"),
        time("idle_ns"),
    ];
    let mut table = Table::new("servers", "Servers, each on its own clock", columns);
    for server in &requests.servers {
        let parts = &server.parts;
        let not_there = "its GPU work is in no input";
        let gpu = Value::int_or(server.has_gpu_work.then_some(parts.gpu_ns), not_there);
        let requests = server.requests.map(|requests| requests as i64);
        table.push(vec![
            Value::from(server.role.name()),
            Value::from(server.label.as_str()),
            Value::int_or(requests, "its spans name no request"),
            Value::Int(server.span_ns),
            gpu,
            Value::Int(parts.host_ns),
            Value::Int(parts.transfer_ns),
            Value::Int(parts.queue_ns),
            Value::Int(parts.idle_ns),
        ]);
    }
    table
}

/// The time to first token of the slowest requests, by part.
fn chart(requests: &Requests) -> Option<Chart> {
    let mut known: Vec<(&RequestTimes, &Parts)> = requests
        .requests
        .iter()
        .filter_map(|request| Some((request, request.first_token.as_ref().ok()?)))
        .collect();
    if known.is_empty() {
        return None;
    }
    known.sort_by_key(|(_, parts)| -parts.total());
    let time = |ns: i64| show(&Value::Int(ns), Unit::Ns);
    let mut series: Vec<Series> = ["GPU", "transfer", "queue", "host"]
        .into_iter()
        .enumerate()
        .map(|(i, name)| Series::new(name, i))
        .collect();
    let has_gaps = known.iter().any(|(_, parts)| parts.not_recorded_ns > 0);
    if has_gaps {
        series.push(Series::rest("not recorded"));
    }
    let bar = |(request, parts): &(&RequestTimes, &Parts)| {
        let mut values = vec![parts.gpu_ns, parts.transfer_ns, parts.queue_ns, parts.host_ns];
        values.extend(has_gaps.then_some(parts.not_recorded_ns));
        Bar::new(&request.id, values.into_iter().map(|ns| ns as f64).collect())
            .with_end(time(parts.total()))
            .with_tip(format!(
                "{}\nGPU {}, transfer {}, queue {}, host {}",
                request.id,
                time(parts.gpu_ns),
                time(parts.transfer_ns),
                time(parts.queue_ns),
                time(parts.host_ns)
            ))
    };
    let bars = Bars { series, bars: known.iter().take(MOST_BARS).map(bar).collect(), ..Bars::across() };
    let which = match known.len() > MOST_BARS {
        true => format!("The {MOST_BARS} slowest of {} requests", known.len()),
        false => "All requests, slowest first".to_string(),
    };
    let description = format!("{which}. Each bar is the time from a request's arrival to its first token.");
    let chart = Chart::new("first_token", "Time to first token by part", Mark::Bars(bars));
    Some(chart.with_description(&description).with_x(Axis::of(Unit::Ns)))
}

fn notes(requests: &Requests) -> Vec<Note> {
    let time = |ns: i64| show(&Value::Int(ns), Unit::Ns);
    let mut notes: Vec<Note> = Vec::new();
    for pair in &requests.clocks.pairs {
        let text = match (&pair.disagreement, pair.at_least_ns, pair.at_most_ns) {
            (Some(why), _, _) => {
                format!("{why}, so no time to first token is shown; times within one server are unaffected")
            }
            (None, Some(least), Some(most)) => format!(
                "times of the two servers are compared as recorded: their KV transfers show that the decode server's clock is at \
                 most {} behind or {} ahead",
                time(-least),
                time(most)
            ),
            (None, _, _) => continue,
        };
        notes.push(text.into());
    }
    if requests.requests.is_empty() && requests.transfer_calls > 0 {
        let text = "no span names its request, so only the servers are shown: SGLang's `--enable-trace` writes spans with request \
                    ids, and its `scripts/convert_otel_2_perfetto.py` adds them to a torch trace";
        notes.push(text.into());
    }
    if requests.requests.iter().any(|request| request.token_ns.is_empty() && request.generation.is_ok()) {
        notes.push(
            "some requests have no span for each token: SGLang writes them with SGLANG_TRACE_LEVEL=3".into(),
        );
    }
    notes
}
