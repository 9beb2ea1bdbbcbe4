//! `compare` as plans over lakes: each run of a lake is a run, and an engine adds up blocks of consecutive calls.

use analysis::timeline::compare::{BLOCKING, BlockedRun, Blocks};
use report::InputFact;
use trace::CopyKind;

use crate::rows::{Cell, Piece, collect};
use crate::{Address, Engine, Error};

/// The runs of a lake, by name; only one if it is named.
pub fn runs(engine: &dyn Engine, lake: &Address, only: Option<&str>) -> Result<Vec<BlockedRun>, Error> {
    let names = collect(engine, "SELECT DISTINCT run FROM sources ORDER BY run")?;
    let names: Vec<&str> = names.rows.iter().map(|row| row[0].text()).collect();
    let wanted: Vec<&&str> = names.iter().filter(|name| only.is_none_or(|only| only == **name)).collect();
    if wanted.is_empty() {
        let run = only.unwrap_or_default().to_string();
        let there = names.join(", ");
        return Err(Error::NoRun { lake: lake.to_string(), run, there });
    }
    wanted.into_iter().map(|run| measure(engine, lake, run)).collect()
}

fn measure(engine: &dyn Engine, lake: &Address, run: &str) -> Result<BlockedRun, Error> {
    let ask = |sql: &str| -> Result<Piece, Error> { collect(engine, sql) };
    // Names of runs have no quotes in them.
    let of_run = format!("WHERE run = '{run}'");
    let mut blocked = BlockedRun {
        inputs: vec![InputFact {
            path: format!("{lake}/run={run}"),
            format: "lake".into(),
            ..InputFact::default()
        }],
        ..BlockedRun::default()
    };
    let rows = ask(&blocks("name", "kernels", &of_run))?.rows;
    blocked.kernels = grouped(rows, 1).into_iter().map(|(key, blocks)| (key[0].clone(), blocks)).collect();
    let rows = ask(&blocks("name, kind", "memory_copies", &of_run))?.rows;
    blocked.copies = grouped(rows, 2)
        .into_iter()
        .map(|(key, blocks)| {
            let kind = if key[1] == "fill" { CopyKind::Fill } else { CopyKind::Copy };
            (key[0].clone(), kind, blocks)
        })
        .collect();
    // Python frames are numerous and are not compared.
    let calls = format!("{of_run} AND category IS DISTINCT FROM 'python_function'");
    let rows = ask(&blocks("category, name", "regions", &calls))?.rows;
    blocked.regions =
        grouped(rows, 2).into_iter().map(|(key, blocks)| (key[0].clone(), key[1].clone(), blocks)).collect();
    let gpus = ask(&format!("SELECT DISTINCT product_name, name FROM agents {of_run} AND type = 'GPU'"))?;
    blocked.gpus = gpus.rows.iter().map(|row| (row[0].text().into(), row[1].text().into())).collect();
    let processes = ask(&format!("SELECT DISTINCT command, guid FROM processes {of_run}"))?;
    for row in &processes.rows {
        blocked.commands.extend(Some(row[0].text().to_string()).filter(|command| !command.is_empty()));
        blocked.recordings.push(row[1].text().into());
    }
    Ok(blocked)
}

/// Calls and time of every block of consecutive calls of each name.
fn blocks(names: &str, table: &str, filter: &str) -> String {
    let (single, blocks) = BLOCKING;
    format!(
        "WITH numbered AS (
            SELECT {names}, duration,
                row_number() OVER (PARTITION BY {names} ORDER BY start, \"end\", node, rank, id) AS place,
                count(*) OVER (PARTITION BY {names}) AS calls
            FROM {table} {filter}
        ), placed AS (
            SELECT {names}, duration,
                (place * CASE WHEN calls <= {single} THEN calls ELSE {blocks} END - 1) / calls AS block
            FROM numbered
        )
        SELECT {names}, block, count(*) AS calls, sum(duration) AS total FROM placed
        GROUP BY {names}, block ORDER BY {names}, block"
    )
}

/// Blocks of each name: rows have the names, the block, its calls and its time.
fn grouped(rows: Vec<Vec<Cell>>, names: usize) -> Vec<(Vec<String>, Blocks)> {
    let mut found: Vec<(Vec<String>, Blocks)> = Vec::new();
    for row in rows {
        let key: Vec<String> = row[..names].iter().map(|cell| cell.text().to_string()).collect();
        let calls = row[names + 1].int().and_then(|calls| usize::try_from(calls).ok()).unwrap_or(0);
        let block = (calls, row[names + 2].int().unwrap_or(0));
        match found.last_mut() {
            Some((last, blocks)) if *last == key => blocks.push(block),
            _ => found.push((key, vec![block])),
        }
    }
    found
}
