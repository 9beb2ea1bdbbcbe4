//! Rows of a result, whatever engine computed them.

use crate::{Engine, Error};

/// One value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// SQL `NULL`.
    Null,
    /// A whole number; true and false are 1 and 0, as in SQLite.
    Int(i64),
    /// A number with a fraction.
    Real(f64),
    /// A text.
    Text(String),
}

impl Cell {
    /// The whole number, if it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Cell::Int(number) => Some(*number),
            Cell::Real(number) if number.fract() == 0.0 => Some(*number as i64),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn real(&self) -> Option<f64> {
        match self {
            Cell::Int(number) => Some(*number as f64),
            Cell::Real(number) => Some(*number),
            _ => None,
        }
    }

    /// The text; empty if the value is not text.
    pub fn text(&self) -> &str {
        match self {
            Cell::Text(text) => text,
            _ => "",
        }
    }
}

/// Some rows of a result; the columns are the same in every piece.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each with a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

/// Takes pieces as they come; the first may have no rows. False ends the query.
pub type Take<'t> = dyn FnMut(Piece) -> bool + 't;

/// All rows of a small result.
pub fn collect(engine: &dyn Engine, sql: &str) -> Result<Piece, Error> {
    let mut all = Piece::default();
    engine.run(sql, &mut |piece| {
        all.columns = piece.columns;
        all.rows.extend(piece.rows);
        true
    })?;
    Ok(all)
}
