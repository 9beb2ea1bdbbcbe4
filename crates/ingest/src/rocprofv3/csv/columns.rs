//! Columns by name: a column that a release does not write reads as absent.

use trace::OptI64;

use crate::rocprofv3::number::whole;

/// The columns of a file.
pub(super) struct Columns {
    /// Names in lower case: releases differ in case (`LDS_Block_Size`, `Lds_Block_Size`).
    names: Vec<String>,
}

impl Columns {
    /// Takes the names from the header.
    pub fn new(names: &[String]) -> Self {
        Self { names: names.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// The first of these columns that the file has.
    pub fn find(&self, names: &[&str]) -> Column {
        Column(names.iter().find_map(|name| self.names.iter().position(|n| n == name)))
    }
}

/// A column of a file; `None` if it is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column(pub Option<usize>);

impl Column {
    /// The field; empty if there is none.
    #[inline]
    pub fn text<'a>(self, fields: &[&'a [u8]]) -> &'a [u8] {
        self.0.map_or(&[], |place| fields[place])
    }

    /// The field as a whole number.
    #[inline]
    pub fn whole(self, fields: &[&[u8]]) -> Option<i64> {
        whole(self.text(fields))
    }

    /// The field as an optional number.
    #[inline]
    pub fn optional(self, fields: &[&[u8]]) -> OptI64 {
        self.whole(fields).into()
    }

    /// The field as a size of a launch.
    #[inline]
    pub fn size(self, fields: &[&[u8]]) -> Option<u32> {
        u32::try_from(self.whole(fields)?).ok()
    }

    /// The field as a number with a fraction.
    pub fn number(self, fields: &[&[u8]]) -> Option<f64> {
        std::str::from_utf8(self.text(fields)).ok()?.parse().ok()
    }
}
