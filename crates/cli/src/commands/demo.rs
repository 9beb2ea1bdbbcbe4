//! `demo`

use clap::Args;

use crate::failure::Failure;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "rocm-perf")]
pub struct DemoArgs {}

impl DemoArgs {
    pub fn run(&self, _output: &OutputArgs) -> Result<(), Failure> {
        Err(Failure::input("not yet"))
    }
}
