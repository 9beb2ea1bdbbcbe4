//! Web servers: for now the loopback server that hands a trace to the Perfetto UI.

pub mod perfetto_ui;
