//! The places a kernel comes from, with the layers of a model merged.

use trace::{Map, StrId};

use model::Run;
use model::attribution::{SiteId, Source, module_class};

/// Time and calls of the sites of one kernel.
#[derive(Default)]
pub(super) struct Sites {
    totals: Map<SiteId, (i64, usize)>,
}

/// One place in the program: the sites of all layers that share op, module class and Python line.
#[derive(Clone, Debug, Default)]
pub struct SiteTotals {
    /// The Python line; empty if not known.
    pub location: String,
    /// The op; empty if not known.
    pub cpu_op: String,
    /// Class of the module.
    pub module: String,
    /// Number of modules of that class.
    pub modules: usize,
    /// The innermost line of the model.
    pub model_frame: String,
    /// The innermost line of a library.
    pub library_frame: String,
    /// The calls that lead to it.
    pub chain: String,
    /// The call that launches it.
    pub launch: String,
    /// How it was found.
    pub source: Source,
    /// Confidence of its least certain part.
    pub confidence_pct: u8,
    /// GPU time of the kernel.
    pub total_ns: i64,
    /// Number of calls.
    pub calls: usize,
    /// Shapes and types of the op's inputs with their GPU time, most time first.
    pub(super) inputs: Vec<Inputs>,
}

/// Calls of an op with the same kind of inputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs {
    /// Shapes, as JSON.
    pub dims: StrId,
    /// Types, as JSON.
    pub types: StrId,
    /// GPU time of the kernel.
    pub total_ns: i64,
    /// Number of calls.
    pub calls: usize,
}

impl SiteTotals {
    /// The name used in the contract.
    pub fn source_name(&self) -> &'static str {
        mapping_source(self.source)
    }

    /// Confidence in the place, 0 to 1.
    pub fn confidence(&self) -> f64 {
        f64::from(self.confidence_pct) / 100.0
    }

    /// Why the op, module or line is not known.
    pub fn why_unknown(&self) -> &'static str {
        match self.source {
            Source::None => "no launch of it is in the trace",
            Source::GraphLaunch => "replayed from a graph, and no capture trace or graph-off trace was given",
            _ => "the launch is not inside any recorded op, module or line",
        }
    }
}

/// `none`, `eager`, `capture-join`, `mapping-trace`, `graph-launch`.
pub(super) fn mapping_source(source: Source) -> &'static str {
    match source {
        Source::None => "none",
        Source::Eager => "eager",
        Source::CaptureJoin => "capture-join",
        Source::MappingTrace => "mapping-trace",
        Source::GraphLaunch => "graph-launch",
    }
}

impl Sites {
    pub fn add(&mut self, site: SiteId, duration: i64) {
        let (total, calls) = self.totals.entry(site).or_default();
        *total += duration;
        *calls += 1;
    }

    /// The sites with layers merged, most time first; at least one.
    pub fn merged(self, context: &Run) -> Vec<SiteTotals> {
        let attribution = &context.attribution;
        let mut parts: Vec<(SiteId, (i64, usize))> = self.totals.into_iter().collect();
        // Facts shown for only one part come from the part with the most time, whatever the map's order.
        parts.sort_by_key(|(site, (total, _))| (std::cmp::Reverse(*total), *site));
        let mut places: Map<(StrId, StrId, &str, Source), usize> = Map::default();
        let mut merged: Vec<(SiteTotals, Vec<StrId>)> = Vec::new();
        for (id, (total, calls)) in parts {
            let site = &attribution.sites[id.0 as usize];
            let text = |id: StrId| attribution.text(id).to_string();
            let module = attribution.text(site.module);
            let class = module_class(module.strip_prefix("nn.Module: ").unwrap_or(module));
            let place =
                *places.entry((site.location, site.cpu_op, class, site.source)).or_insert_with(|| {
                    let fresh = SiteTotals {
                        location: text(site.location),
                        cpu_op: text(site.cpu_op),
                        module: class.to_string(),
                        model_frame: text(site.model_frame),
                        library_frame: text(site.library_frame),
                        chain: text(site.chain),
                        launch: text(site.launch),
                        source: site.source,
                        confidence_pct: site.confidence_pct,
                        ..SiteTotals::default()
                    };
                    merged.push((fresh, Vec::new()));
                    merged.len() - 1
                });
            let (totals, modules) = &mut merged[place];
            totals.total_ns += total;
            totals.calls += calls;
            totals.confidence_pct = totals.confidence_pct.min(site.confidence_pct);
            if !site.module.is_empty() {
                modules.push(site.module);
            }
            if !site.input_dims.is_empty() {
                let (dims, types) = (site.input_dims, site.input_types);
                let known = totals.inputs.iter_mut().find(|known| (known.dims, known.types) == (dims, types));
                match known {
                    Some(known) => {
                        known.total_ns += total;
                        known.calls += calls;
                    }
                    None => totals.inputs.push(Inputs { dims, types, total_ns: total, calls }),
                }
            }
        }
        let mut merged: Vec<SiteTotals> = merged
            .into_iter()
            .map(|(mut site, mut modules)| {
                modules.sort_unstable();
                modules.dedup();
                site.modules = modules.len();
                site.inputs.sort_by_key(|inputs| std::cmp::Reverse(inputs.total_ns));
                site
            })
            .collect();
        merged.sort_by(|a, b| {
            b.total_ns.cmp(&a.total_ns).then_with(|| (&a.location, &a.cpu_op).cmp(&(&b.location, &b.cpu_op)))
        });
        merged
    }
}
