//! Where the time of each request of a serving run went.

use analysis::serving::requests::{compute, needs, present};
use report::Report;

use crate::failure::Failure;
use crate::input::Input;
use crate::observer::Observer;

/// Which requests to look at.
#[derive(Clone, Debug, Default)]
pub struct RequestsRequest {
    /// The traces of all servers.
    pub input: Input,
}

/// Time to first token and per token of each request, as sums of GPU, transfer, queue and host.
pub fn requests(request: &RequestsRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let trace = request.input.read(&needs(), observer)?;
    let requests = compute(&trace);
    if requests.requests.is_empty() && requests.servers.is_empty() {
        let paths: Vec<String> = request.input.paths.iter().map(|path| path.display().to_string()).collect();
        let message = format!("`{}` names no requests and no KV transfers", paths.join("`, `"));
        let help = "start SGLang with --enable-trace and add its spans to the torch traces with \
                    scripts/convert_otel_2_perfetto.py, or annotate with record_function(\"prefill_forward rid=7\")";
        return Err(Failure::input(message).with_help(help));
    }
    Ok(present(&trace, &requests))
}
