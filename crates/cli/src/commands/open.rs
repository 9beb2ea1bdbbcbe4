//! `open`

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use report::{Column, Report, Table, Unit, Value};
use serve::perfetto_ui::{Ended, Offer, PORT, PUBLIC_UI, origin};

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::{Format, OutputArgs, print};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf open 4711_results.db
  rocm-perf open trace.json.gz --start 40% --end 60%
  ssh -L 9001:127.0.0.1:9001 gpu-node rocm-perf open run.db    # then click the printed link
  rocm-perf open ranks/ --ui http://perfetto.local:10000       # a UI of your own

The trace stays on this machine: only the Perfetto page in your browser can
fetch it, over loopback, and it is served once. Safari blocks such fetches;
use Chrome, Edge or Firefox.")]
pub struct OpenArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Print the link and do not start a browser
    #[arg(long)]
    no_browser: bool,

    /// Address of the Perfetto UI
    #[arg(long, value_name = "URL", default_value = PUBLIC_UI)]
    ui: String,

    /// Port to serve on; the public UI only fetches from 9001
    #[arg(long, value_name = "N", default_value_t = PORT)]
    port: u16,

    /// Give up after this many seconds if nobody fetches the trace
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,

    /// Keep serving until the timeout or Ctrl-C, so that you can reload the page
    #[arg(long)]
    keep: bool,

    /// Show HSA queues instead of HIP streams as tracks
    #[arg(long)]
    group_by_queue: bool,
}

impl OpenArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let input = self.input.request()?;
        let Some(origin) = origin(&self.ui) else {
            return Err(Failure::input(format!("`--ui {}` is not a web address", self.ui))
                .with_help("it must start with `https://` or `http://`"));
        };
        if origin == PUBLIC_UI && self.port != PORT {
            let message =
                format!("{PUBLIC_UI} fetches from port {PORT} only, not from `--port {}`", self.port);
            return Err(Failure::input(message).with_help("other ports work with your own UI: `--ui URL`"));
        }
        let file = app::perfetto_file(&input, self.group_by_queue, output)?;
        let offer = Offer::new(&file.path, &file.name, &self.ui, self.port).map_err(|error| {
            let message = format!("cannot listen on 127.0.0.1:{}: {error}", self.port);
            let failure = Failure::input(message);
            match error.kind() {
                std::io::ErrorKind::AddrInUse => failure.with_help(
                    "stop the program that uses this port, such as another `open` or `trace_processor --httpd`",
                ),
                _ => failure,
            }
        })?;
        if output.format() == Format::Json {
            let columns = vec![
                Column::text("link"),
                Column::text("url"),
                Column::text("ui_origin"),
                Column::int("bytes", Unit::Bytes),
            ];
            let mut table = Table::new("offers", "Traces to fetch", columns);
            let texts = [offer.link(), offer.url(), origin].map(Value::Text);
            table.push(texts.into_iter().chain([Value::Int(file.bytes as i64)]).collect());
            output.show(Report { tables: vec![table], ..file.report.clone() })?;
        } else {
            print(&format!("{}\n", offer.link()))?;
        }
        let opened = !self.no_browser && browse(&offer.link());
        if !output.quiet {
            eprintln!("{}", self.hint(opened));
        }
        match offer.serve(Duration::from_secs(self.timeout), self.keep) {
            Ok(Ended::Fetched) => Ok(()),
            Ok(Ended::TimedOut) => {
                let message = format!("nobody fetched the trace in {} s", self.timeout);
                Err(Failure::tool(message).with_help("wait longer with `--timeout SECONDS`"))
            }
            Err(error) => Err(Failure::tool(format!("cannot serve the trace: {error}"))),
        }
    }

    /// What to do with the link.
    fn hint(&self, opened: bool) -> String {
        let until = if self.keep { "Ctrl-C stops it" } else { "it stops once the trace is fetched" };
        match (opened, std::env::var_os("SSH_CONNECTION").is_some()) {
            (true, _) => format!("opening the browser; {until}"),
            (false, false) => format!("click the link in a browser on this machine; {until}"),
            (false, true) => format!(
                "click the link where `ssh -L {port}:127.0.0.1:{port}` forwards the port to this machine; {until}",
                port = self.port
            ),
        }
    }
}

/// Opens a link in the user's browser; `false` if there is none.
fn browse(link: &str) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let has_screen =
        cfg!(any(target_os = "macos", windows)) || set("DISPLAY").or(set("WAYLAND_DISPLAY")).is_some();
    let (program, arguments): (PathBuf, &[&str]) = match set("BROWSER") {
        // It may hold a list; takes the first.
        Some(browsers) => match std::env::split_paths(&browsers).next() {
            Some(first) => (first, &[]),
            None => return false,
        },
        None if !has_screen => return false,
        None if cfg!(target_os = "macos") => ("open".into(), &[]),
        None if cfg!(windows) => ("rundll32".into(), &["url.dll,FileProtocolHandler"]),
        None => ("xdg-open".into(), &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
