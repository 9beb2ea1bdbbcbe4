//! Which rank a file is, from its name.
