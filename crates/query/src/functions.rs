//! SQL functions beyond SQLite's own: `regexp` (and the REGEXP operator), sample and population deviation,
//! and the totals behind `top_kernels`, `top` and `busy`.

use std::sync::Arc;

use regex::Regex;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};

use crate::totals::TotalsBy;

const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// Adds the functions to a connection.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    convert::rocpd::versions::register(connection)?;
    connection.create_scalar_function("regexp", 2, PURE, regexp)?;
    connection.create_aggregate_function("totals_by", 4, PURE, TotalsBy)?;
    for (name, which) in [
        ("variance", Spread { sample: true, root: false }),
        ("variance_pop", Spread { sample: false, root: false }),
        ("stddev", Spread { sample: true, root: true }),
        ("stddev_pop", Spread { sample: false, root: true }),
    ] {
        connection.create_aggregate_function(name, 1, PURE, which)?;
    }
    Ok(())
}

/// `regexp(pattern, text)`; also called for `text REGEXP pattern`.
fn regexp(context: &Context<'_>) -> Result<Option<bool>> {
    let pattern: Arc<Regex> = context.get_or_create_aux(0, |value| -> Result<Regex> {
        let pattern = value.as_str().map_err(|e| Error::UserFunctionError(Box::new(e)))?;
        Regex::new(pattern).map_err(|e| Error::UserFunctionError(Box::new(e)))
    })?;
    Ok(match context.get_raw(1) {
        ValueRef::Null => None,
        ValueRef::Text(text) => Some(pattern.is_match(&String::from_utf8_lossy(text))),
        ValueRef::Integer(number) => Some(pattern.is_match(&number.to_string())),
        ValueRef::Real(number) => Some(pattern.is_match(&number.to_string())),
        ValueRef::Blob(_) => Some(false),
    })
}

/// Variance or its root, of a sample (n − 1) or of all; NULL if there are too few values.
#[derive(Clone, Copy)]
struct Spread {
    sample: bool,
    root: bool,
}

/// Running mean and sum of squared differences (Welford), which does not cancel.
#[derive(Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Aggregate<Moments, Option<f64>> for Spread {
    fn init(&self, _: &mut Context<'_>) -> Result<Moments> {
        Ok(Moments::default())
    }

    fn step(&self, context: &mut Context<'_>, moments: &mut Moments) -> Result<()> {
        let value = match context.get_raw(0) {
            ValueRef::Integer(value) => value as f64,
            ValueRef::Real(value) => value,
            _ => return Ok(()),
        };
        moments.count += 1.0;
        let difference = value - moments.mean;
        moments.mean += difference / moments.count;
        moments.squares += difference * (value - moments.mean);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, moments: Option<Moments>) -> Result<Option<f64>> {
        let moments = moments.unwrap_or_default();
        let freedom = moments.count - if self.sample { 1.0 } else { 0.0 };
        let variance = (freedom > 0.0).then(|| moments.squares / freedom);
        Ok(if self.root { variance.map(f64::sqrt) } else { variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<T: rusqlite::types::FromSql>(sql: &str) -> T {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn patterns_match_anywhere_and_null_stays_null() {
        assert!(value::<bool>("SELECT 'Cijk_Ailk_MT64' REGEXP 'MT[0-9]+'"));
        assert!(!value::<bool>("SELECT 'gemm' REGEXP '^em'"));
        assert_eq!(value::<Option<bool>>("SELECT NULL REGEXP 'x'"), None);
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        let error =
            connection.query_row("SELECT 'x' REGEXP '('", [], |row| row.get::<_, bool>(0)).unwrap_err();
        assert!(error.to_string().contains("unclosed group"), "{error}");
    }

    #[test]
    fn spread_median_and_percentile() {
        let of = |call: &str| {
            value::<Option<f64>>(&format!("WITH v(x) AS (VALUES (2), (4), (9), (NULL)) SELECT {call} FROM v"))
        };
        assert!((of("variance(x)").unwrap() - 13.0).abs() < 1e-12);
        assert!((of("stddev_pop(x)").unwrap() - (26.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(of("stddev(NULL)"), None);
        assert_eq!(of("median(x)"), Some(4.0));
        assert_eq!(of("percentile(x, 100)"), Some(9.0));
    }
}
