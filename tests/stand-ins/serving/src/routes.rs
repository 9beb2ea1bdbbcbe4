//! What each route answers, and the state behind it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::config::{Config, Framework};
use crate::http::{Request, Response};
use crate::profiler::{Profiler, Recording, Step, Wish};
use crate::trace;

/// A received request.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Method.
    pub method: String,
    /// Route.
    pub path: String,
    /// `Authorization` header.
    pub authorization: Option<String>,
    /// JSON body; null without one.
    pub body: Value,
}

/// All that changes while the server runs.
pub(crate) struct State {
    config: Config,
    dead: AtomicBool,
    tokens_requests: AtomicU64,
    busy_left: AtomicU64,
    recorded: Mutex<Vec<Recorded>>,
    scheduler: Mutex<Scheduler>,
}

#[derive(Default)]
struct Scheduler {
    forward_steps: u64,
    profiler: Option<Profiler>,
    profiles: u64,
}

impl State {
    pub fn new(config: Config) -> Self {
        let profiler = config.faults.already_profiling.then(|| Profiler::new(Wish::default(), 0));
        Self {
            dead: AtomicBool::new(false),
            tokens_requests: AtomicU64::new(0),
            busy_left: AtomicU64::new(config.faults.busy_for),
            recorded: Mutex::default(),
            scheduler: Mutex::new(Scheduler { profiler, ..Scheduler::default() }),
            config,
        }
    }

    pub fn recorded(&self) -> Vec<Recorded> {
        self.recorded.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    pub fn forward_steps(&self) -> u64 {
        self.scheduler().forward_steps
    }

    pub fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    fn scheduler(&self) -> MutexGuard<'_, Scheduler> {
        self.scheduler.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The answer; `None` if the server dies of it.
    pub fn answer(&self, request: &Request) -> Option<Response> {
        let body = serde_json::from_str(&request.body).unwrap_or(Value::Null);
        let (method, path) = (request.method.clone(), request.path.clone());
        let authorization = request.authorization.clone();
        if path != "/health" {
            let record = Recorded { method, path, authorization, body: body.clone() };
            self.recorded.lock().unwrap_or_else(|e| e.into_inner()).push(record);
        }
        let wanted = self.config.api_key.as_ref().map(|key| format!("Bearer {key}"));
        if wanted.is_some() && request.authorization != wanted && request.path != "/health" {
            return Some(Response::json(401, json!({"error": "Unauthorized"})));
        }
        let busy =
            self.busy_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if busy.is_ok() && request.path != "/health" {
            return Some(Response::text(503, "starting"));
        }
        let sglang = self.config.framework == Framework::Sglang;
        let post = request.method == "POST";
        match (request.path.as_str(), sglang) {
            ("/health", _) => Some(Response::text(200, "")),
            ("/server_info", true) => Some(Response::json(200, self.server_info())),
            ("/v1/models", _) => {
                let owner = if sglang { "sglang" } else { "vllm" };
                let model = json!({"id": self.config.model, "object": "model", "owned_by": owner});
                Some(Response::json(200, json!({"object": "list", "data": [model]})))
            }
            ("/version", false) => Some(Response::json(200, json!({"version": self.config.version}))),
            ("/generate", true) if post => {
                let tokens = body.pointer("/sampling_params/max_new_tokens").and_then(Value::as_u64);
                self.generate(body["text"].as_str(), tokens)
            }
            ("/v1/chat/completions", _) if post && !self.config.faults.no_chat => {
                let prompt = body.pointer("/messages/0/content").and_then(Value::as_str);
                self.generate(prompt, body["max_tokens"].as_u64())
            }
            ("/v1/chat/completions", _) if post => {
                Some(Response::json(400, json!({"error": {"message": "no chat template"}})))
            }
            ("/v1/completions", _) if post => {
                self.generate(body["prompt"].as_str(), body["max_tokens"].as_u64())
            }
            ("/start_profile", true) => Some(self.start_sglang(&body)),
            ("/stop_profile", true) => Some(self.stop_sglang()),
            ("/start_profile", false) if post && self.config.profiling => Some(self.start_vllm()),
            ("/stop_profile", false) if post && self.config.profiling => Some(self.stop_vllm()),
            _ => Some(Response::json(404, json!({"detail": "Not Found"}))),
        }
    }

    fn server_info(&self) -> Value {
        let config = &self.config;
        json!({"model_path": config.model, "tokenizer_path": config.model, "tp_size": config.tp_size, "dp_size": 1,
            "pp_size": 1, "attention_backend": "aiter", "disable_cuda_graph": false, "api_key": config.api_key,
            "version": config.version, "internal_states": [{"last_gen_throughput": 0.0}]})
    }

    fn generate(&self, prompt: Option<&str>, tokens: Option<u64>) -> Option<Response> {
        let (Some(prompt), Some(tokens)) = (prompt, tokens) else {
            return Some(Response::json(
                422,
                json!({"detail": "a prompt and a number of tokens are needed"}),
            ));
        };
        let words = prompt.split_whitespace().count();
        if self.config.faults.longest_prompt.is_some_and(|longest| words > longest) {
            let message = format!("the prompt of {words} tokens is longer than the model's context length");
            return Some(Response::json(400, json!({"error": {"message": message}})));
        }
        let number = self.tokens_requests.fetch_add(1, Ordering::SeqCst) + 1;
        if self.config.faults.dies_at_request.is_some_and(|at| number >= at) {
            self.die();
            return None;
        }
        self.forward(Step::Prefill(words));
        for _ in 1..tokens {
            if self.is_dead() {
                return None;
            }
            self.forward(Step::Decode);
        }
        Some(Response::json(200, json!({"text": "ok", "choices": [{"text": "ok"}]})))
    }

    /// One forward step; a profile that ends with it is written, which becomes visible later.
    fn forward(&self, step: Step) {
        let mut scheduler = self.scheduler();
        scheduler.forward_steps += 1;
        let number = scheduler.forward_steps;
        let mut write = None;
        if let Some(profiler) = &mut scheduler.profiler {
            let (done, over) = profiler.step(number, step);
            if !done.is_empty() {
                write = Some((done, profiler.wish.clone()));
            }
            if over {
                scheduler.profiler = None;
            }
        }
        if let Some((done, wish)) = write {
            scheduler.profiles += 1;
            let export = Export::new(&self.config, done, wish, scheduler.profiles);
            std::thread::spawn(move || export.write());
        }
        drop(scheduler);
        std::thread::sleep(self.config.step);
    }

    fn start_sglang(&self, body: &Value) -> Response {
        if self.config.faults.start_fails {
            return Response::text(500, "Internal Server Error");
        }
        let wish = match Wish::of(body) {
            Ok(wish) => wish,
            Err(why) => return Response::json(422, json!({"detail": why})),
        };
        let mut scheduler = self.scheduler();
        if scheduler.profiler.is_some() {
            return Response::text(500, "Profiling is already in progress. Call /stop_profile first.");
        }
        scheduler.profiler = Some(Profiler::new(wish, scheduler.forward_steps));
        Response::text(200, "Start profiling.\n")
    }

    fn stop_sglang(&self) -> Response {
        match self.stop() {
            true => Response::text(200, "Stop profiling. This will take some time.\n"),
            false => Response::text(500, "Profiling is not in progress. Call /start_profile first."),
        }
    }

    fn start_vllm(&self) -> Response {
        if self.config.faults.start_fails {
            return Response::text(500, "Internal Server Error");
        }
        let mut scheduler = self.scheduler();
        if scheduler.profiler.is_none() {
            scheduler.profiler = Some(Profiler::new(Wish::default(), scheduler.forward_steps));
        }
        Response::text(200, "")
    }

    fn stop_vllm(&self) -> Response {
        self.stop();
        Response::text(200, "")
    }

    /// Writes what the profiler has before it answers; false if it was off.
    fn stop(&self) -> bool {
        if let Some(time) = self.config.faults.stop_hangs {
            std::thread::sleep(time);
        }
        let mut scheduler = self.scheduler();
        let Some(profiler) = scheduler.profiler.take() else { return false };
        scheduler.profiles += 1;
        let wish = profiler.wish.clone();
        let export = Export::new(&self.config, profiler.stop(), wish, scheduler.profiles);
        drop(scheduler);
        if self.config.faults.dies_in_export {
            export.write_halves();
            self.die();
            return true;
        }
        export.write();
        true
    }
}

/// Files that are being written.
struct Export {
    config: Config,
    recordings: Vec<Recording>,
    wish: Wish,
    folder: PathBuf,
    stamp: u128,
}

impl Export {
    fn new(config: &Config, recordings: Vec<Recording>, wish: Wish, number: u64) -> Self {
        let asked =
            wish.output_dir.as_ref().map(PathBuf::from).filter(|_| config.framework == Framework::Sglang);
        let folder = config.faults.wrong_dir.clone().or(asked).unwrap_or_else(|| config.trace_dir.clone());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Self { config: config.clone(), recordings, wish, folder, stamp: now + u128::from(number) }
    }

    /// (name, content) of every file.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        if self.config.faults.no_file {
            return files;
        }
        for recording in &self.recordings {
            for rank in 0..self.config.tp_size {
                if self.config.faults.only_rank.is_some_and(|only| only != rank) {
                    continue;
                }
                let content = packed(&trace::of_rank(&self.config, rank, &recording.steps));
                files.push((self.name(rank, recording.suffix), content));
            }
        }
        if self.config.framework == Framework::Vllm {
            files.push(("profiler_out_0.txt".into(), b"Name  Self CPU\n".to_vec()));
            if self.config.frontend_trace {
                let name = format!("standin_1.async_llm.{}.pt.trace.json.gz", self.stamp);
                files.push((name, packed(&trace::of_frontend())));
            }
        }
        if self.wish.merge {
            files.push((format!("merged-{}.trace.json.gz", self.id()), packed(&trace::of_frontend())));
        }
        files
    }

    fn id(&self) -> String {
        self.wish.id.clone().unwrap_or_else(|| (self.stamp / 1_000_000_000).to_string())
    }

    fn name(&self, rank: u32, suffix: &str) -> String {
        let prefix = self.wish.prefix.as_ref().map_or(String::new(), |prefix| format!("{prefix}-"));
        match self.config.framework {
            Framework::Sglang => format!("{prefix}{}-TP-{rank}{suffix}.trace.json.gz", self.id()),
            Framework::Vllm => format!("dp0_pp0_tp{rank}_rank_{rank}.{}.pt.trace.json.gz", self.stamp),
        }
    }

    fn write(&self) {
        std::thread::sleep(self.config.export_delay);
        let halves = self.write_halves();
        std::thread::sleep(self.config.half_written);
        if self.config.faults.truncated {
            return;
        }
        for (path, rest) in halves {
            let file = std::fs::OpenOptions::new().append(true).open(path);
            let _ = file.and_then(|mut file| file.write_all(&rest));
        }
    }

    /// Writes the first half of each file; returns the rest.
    fn write_halves(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let _ = std::fs::create_dir_all(&self.folder);
        let half = |(name, content): (String, Vec<u8>)| {
            let path = Path::new(&self.folder).join(name);
            let (first, rest) = content.split_at(content.len() / 2);
            let _ = std::fs::write(&path, first);
            (path, rest.to_vec())
        };
        self.files().into_iter().map(half).collect()
    }
}

fn packed(trace: &Value) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(trace.to_string().as_bytes());
    encoder.finish().unwrap_or_default()
}
