//! rocpd databases: schema, views and a bulk writer.

pub mod views;
