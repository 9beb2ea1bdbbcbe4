//! Live profiling of a running SGLang or vLLM server over HTTP.
//!
//! ```text
//! probe the server ─► for each workload: warm up ─► start ─► requests ─► stop ─► wait for whole files ─► move
//! ```
//!
//! The server writes the traces, on its own disk: this machine must see the folder they appear in.

mod complete;
mod error;
mod files;
mod http;
mod options;
mod running;
mod server;
mod workload;

use std::path::PathBuf;

pub use error::Error;
pub use options::{Framework, Lengths, Options, Role, Site, Stage, Workload};
pub use running::stop_running_profiles;
pub use server::Facts;

use self::files::Watch;
use server::Server;
use workload::{Plan, Prompts, Scope};

/// Gets progress messages of a capture, which takes minutes.
pub trait Events: Sync {
    /// A step begins.
    fn step(&self, message: &str);
    /// Something is wrong, but the capture continues.
    fn warn(&self, message: &str);
}

/// A trace that was captured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CapturedTrace {
    /// Which server it comes from.
    pub role: Role,
    /// What the server was doing.
    pub stage: Stage,
    /// Rank, if the name has it.
    pub rank: Option<u32>,
    /// Where it is now.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// The result of a capture.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// Traces by role, stage and rank.
    pub traces: Vec<CapturedTrace>,
    /// What the servers say about themselves: the formal one first.
    pub servers: Vec<(Role, Facts)>,
    /// What went wrong without stopping the capture.
    pub warnings: Vec<String>,
}

/// Profiles the servers of the options, one after the other.
pub fn capture(options: &Options, events: &dyn Events) -> Result<Captured, Error> {
    options.check()?;
    let mut captured = Captured::default();
    let sites = options.sites();
    let servers: Vec<(&Site, Server)> = sites
        .into_iter()
        .map(|site| {
            events.step(&format!("detecting the {} server at {}", site.role.name(), site.url));
            Ok((site, Server::find(site, options)?))
        })
        .collect::<Result<_, Error>>()?;
    // Both are checked before either is disturbed.
    for (site, server) in &servers {
        Capture { options, site, server, events, captured: &mut captured }.all_workloads()?;
        captured.servers.push((site.role, server.facts().clone()));
    }
    captured.traces.sort();
    Ok(captured)
}

/// One server being profiled.
struct Capture<'a> {
    options: &'a Options,
    site: &'a Site,
    server: &'a Server,
    events: &'a dyn Events,
    captured: &'a mut Captured,
}

impl Capture<'_> {
    fn all_workloads(&mut self) -> Result<(), Error> {
        files::create(&self.site.output_dir)?;
        files::write_server_args(&self.site.output_dir, self.server.facts())?;
        files::write_doctor(&self.site.output_dir, &self.site.url)?;
        if self.options.stop_first {
            self.events.step("stopping the running profile");
            self.server.stop(self.options.timeout)?;
        }
        let prompts = Prompts::new();
        for scope in self.options.workload.scopes() {
            let plan = Plan::new(*scope, self.options, self.server.framework());
            self.workload(&plan, &prompts)?;
        }
        Ok(())
    }

    fn workload(&mut self, plan: &Plan, prompts: &Prompts) -> Result<(), Error> {
        let label = plan.scope.label();
        self.events.step(&format!("{label}: warming up with {} requests", plan.warm_up.count));
        self.server.send(&plan.warm_up, prompts)?;
        let watch = Watch::begin(self.site)?;
        self.events.step(&format!("{label}: profiling {} requests", plan.probes.count));
        self.server.start(self.site, self.options, plan)?;
        std::thread::sleep(self.options.probe_delay);
        let sent = self.server.send(&plan.probes, prompts);
        self.events.step(&format!("{label}: stopping"));
        let stopped = self.server.stop(self.options.timeout);
        sent?;
        if let Err(error) = &stopped
            && matches!(error, Error::Died { .. } | Error::Refused { .. })
        {
            return Err(stopped.unwrap_err());
        }
        self.events.step(&format!("{label}: waiting for files in {}", watch.folder().display()));
        let found = match watch.wait(self.server, self.options) {
            // A failed stop explains why there are no files.
            Err(Error::NoFiles { .. }) if stopped.is_err() => return Err(stopped.unwrap_err()),
            found => found?,
        };
        if let Err(error) = stopped {
            self.warn(error.to_string());
        }
        if let Some(missing) = found.missing(self.server.facts().ranks) {
            self.warn(format!("{label}: {missing}"));
        }
        for file in found.files {
            let stage = match plan.scope {
                Scope::Legacy => files::stage_of(&file.path).unwrap_or(Stage::All),
                Scope::Prefill => Stage::Prefill,
                Scope::Decode => Stage::Decode,
            };
            let path = match files::move_into(&file.path, &self.site.output_dir, stage) {
                Ok(path) => path,
                Err(error) => {
                    self.warn(format!("`{}` stays where it is: {error}", file.path.display()));
                    file.path.clone()
                }
            };
            let rank = files::rank_of(&path);
            self.captured.traces.push(CapturedTrace {
                role: self.site.role,
                stage,
                rank,
                path,
                bytes: file.bytes,
            });
        }
        Ok(())
    }

    fn warn(&mut self, message: String) {
        self.events.warn(&message);
        self.captured.warnings.push(message);
    }
}
