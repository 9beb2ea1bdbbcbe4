//! `requests`

use app::requests::RequestsRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf requests prefill.json decode.json
  rocm-perf requests servers/ --table requests --limit 0
  rocm-perf requests prefill.json decode.json --format json

Give the traces of all servers. Spans must name their request: SGLang writes
them with --enable-trace, and its scripts/convert_otel_2_perfetto.py adds them
to a torch trace. The parts of a time add up to it exactly: `gpu` is GPU work
of the request's batch, `transfer` its KV cache on the way, `queue` waiting
for memory or a batch, `host` everything else. If the KV transfers show that
the clocks of two servers differ, no time across them is shown.
docs/requests.md explains the stages.")]
pub struct RequestsArgs {
    #[command(flatten)]
    input: InputArgs,
}

impl RequestsArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = RequestsRequest { input: self.input.request()? };
        output.show(app::requests(&request, output)?)
    }
}
