//! What rocm-perf knows about a machine, on simulated machines: their GPUs, the doctor, monitors, library
//! calls.

#[path = "machine/doctor.rs"]
mod doctor;
#[path = "machine/fixture.rs"]
mod fixture;
#[path = "machine/gpus.rs"]
mod gpus;
#[path = "machine/known_issues.rs"]
mod known_issues;
#[path = "machine/library_calls.rs"]
mod library_calls;
#[path = "machine/monitor.rs"]
mod monitor;
