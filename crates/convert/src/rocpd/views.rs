//! rocpd's own views as data: name and SELECT text, corrected so that no row is lost or multiplied.

/// (view name, SELECT text) in an order in which each only uses those before it.
pub fn all() -> &'static [(&'static str, &'static str)] {
    &[]
}
