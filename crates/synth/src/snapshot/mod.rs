//! Memory snapshots of a simulated training loop, with the truth about them.
//!
//! Parameters and their optimizer state exist before the record begins. Each step keeps activations from
//! forward to backward and gradients until the next step, and one line keeps a block forever. The run ends
//! with an allocation that does not fit.

mod allocator;
mod pickle;

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use stats::random::mix;

use self::allocator::Allocator;
use self::pickle::Pickle;

/// The truth about the memory of one rank.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct MemoryTruth {
    /// The rank.
    pub rank: u32,
    /// Events in the record.
    pub events: u64,
    /// Held before the record.
    pub start_bytes: i64,
    /// The most that was held.
    pub peak_bytes: i64,
    /// When it was reached.
    pub peak_at_ns: i64,
    /// Held at the end.
    pub end_bytes: i64,
    /// Taken from the driver at the end.
    pub reserved_bytes: i64,
    /// The line that never frees.
    pub leak_line: String,
    /// How often it allocates.
    pub leak_blocks: u64,
    /// How much it keeps.
    pub leak_bytes: i64,
    /// Size that the last allocation requested.
    pub asked_bytes: i64,
    /// What the device had left for it.
    pub device_free_bytes: i64,
}

/// How much to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    pub steps: u64,
    /// Steps continue until the file has about this many bytes.
    pub size: Option<u64>,
}

/// Default number of steps.
pub(crate) const USUAL_STEPS: u64 = 10;

const LAYERS: usize = 24;
const DEVICE_BYTES: i64 = 192 << 30;
/// Bytes of an event without its frames, and of a frame, once all texts are known.
const EVENT_BYTES: u64 = 60;
const FRAME_BYTES: u64 = 31;
const LEAK_BYTES: i64 = 262_144;
const MICROSECOND: i64 = 1000;

/// A line of a program: function, file, line.
type Line = (String, String, u32);

/// What the loop does at a moment.
#[derive(Clone, Copy)]
struct Event {
    action: &'static str,
    address: i64,
    bytes: i64,
    at_us: i64,
    stack: u32,
}

struct Loop {
    allocator: Allocator,
    stacks: Vec<Vec<Line>>,
    events: Vec<Event>,
    truth: MemoryTruth,
    held: i64,
    now_us: i64,
    /// Bytes that the events will take in the file.
    written: u64,
    recording: bool,
    /// Draws so far, from the seed on.
    draws: u64,
}

/// Writes the snapshot of one rank.
pub(crate) fn write(to: impl Write, rank: u32, seed: u64, amount: Amount) -> io::Result<(u64, MemoryTruth)> {
    let stacks = stacks();
    let mut run = Loop {
        allocator: Allocator::default(),
        stacks,
        events: Vec::new(),
        truth: MemoryTruth { rank, leak_line: format!("{SCRIPT}:88 train"), ..MemoryTruth::default() },
        held: 0,
        now_us: 1_790_000_000_000_000,
        written: 0,
        recording: false,
        draws: mix(seed ^ u64::from(rank) << 32),
    };
    run.train(amount);
    let mut pickle = Pickle::begin(BufWriter::with_capacity(1 << 20, to))?;
    run.write(&mut pickle)?;
    let (mut to, bytes) = pickle.end()?;
    to.flush()?;
    Ok((bytes, run.truth))
}

const SCRIPT: &str = "train.py";
/// Kinds of activations of a layer: operation, line of the model, bytes.
const ACTIVATIONS: [(&str, u32, i64); 5] = [
    ("linear", 41, 25_165_824),
    ("scaled_dot_product_attention", 44, 8_388_608),
    ("gelu", 52, 33_554_432),
    ("dropout", 53, 8_650_752),
    ("layer_norm", 58, 8_421_376),
];

/// The stacks: of each activation of each layer, then of parameters, gradients, the leak and the last allocation.
fn stacks() -> Vec<Vec<Line>> {
    let line = |name: &str, file: &str, line: u32| (name.to_string(), file.to_string(), line);
    let native = |op: &str| {
        vec![
            line("torch::unwind::unwind()", "??", 0),
            line("torch::CapturedTraceback::gather(bool, bool, bool)", "??", 0),
            line(
                "c10::hip::HIPCachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long)",
                "??",
                0,
            ),
            line(
                "c10::hip::HIPCachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
                "??",
                0,
            ),
            line("at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*)", "??", 0),
            line("at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)", "??", 0),
            line(&format!("at::native::{op}(at::Tensor const&)"), "??", 0),
            line(&format!("at::_ops::{op}::redispatch(c10::DispatchKeySet)"), "??", 0),
            line(&format!("at::_ops::{op}::call(at::Tensor const&)"), "??", 0),
            line("_PyObject_MakeTpCall", "??", 0),
        ]
    };
    let program = |mut stack: Vec<Line>, at: u32| {
        stack.push(line("_PyEval_EvalFrameDefault", "??", 0));
        stack.push(line("train", SCRIPT, at));
        stack.push(line("<module>", SCRIPT, 120));
        stack.push(line("_start", "??", 0));
        stack
    };
    let mut stacks = Vec::new();
    for layer in 0..LAYERS as u32 {
        for (op, at, _) in ACTIVATIONS {
            let mut stack = native(op);
            stack.push(line("forward", &format!("torch/nn/modules/{op}.py"), 120 + at));
            stack.push(line("_call_impl", "torch/nn/modules/module.py", 1790));
            stack.push(line("forward", "model.py", 100 * layer + at));
            stack.push(line("_call_impl", "torch/nn/modules/module.py", 1790));
            stacks.push(program(stack, 80));
        }
    }
    stacks.push(program(native("empty"), 60));
    let mut gradients = native("mm");
    gradients.push(line(
        "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)",
        "??",
        0,
    ));
    gradients.push(line("torch::autograd::Engine::thread_main()", "??", 0));
    stacks.push(gradients);
    stacks.push(program(native("clone"), 88));
    stacks.push(program(native("cat"), 95));
    stacks
}

const PARAMETERS: u32 = (LAYERS * ACTIVATIONS.len()) as u32;
const GRADIENTS: u32 = PARAMETERS + 1;
const LEAK: u32 = PARAMETERS + 2;
const LAST: u32 = PARAMETERS + 3;

impl Loop {
    fn train(&mut self, amount: Amount) {
        for layer in 0..LAYERS as i64 {
            self.alloc(50_331_648 + 4096 * layer, PARAMETERS);
        }
        self.recording = true;
        self.truth.start_bytes = self.held;
        self.truth.peak_bytes = self.held;
        let mut gradients: Vec<i64> = Vec::new();
        let mut step = 0;
        while amount.size.map_or(step < amount.steps, |size| self.written < size) {
            gradients.drain(..).for_each(|address| self.free(address, LEAK));
            let mut activations = Vec::new();
            for layer in 0..LAYERS {
                for (kind, (_, _, bytes)) in ACTIVATIONS.into_iter().enumerate() {
                    let more = self.draw(64) * 512;
                    activations.push(self.alloc(bytes + more, (layer * ACTIVATIONS.len() + kind) as u32));
                }
            }
            for (number, address) in activations.into_iter().enumerate().rev() {
                if number % ACTIVATIONS.len() == 0 {
                    gradients.push(self.alloc(50_331_648, GRADIENTS));
                }
                self.free(address, GRADIENTS);
            }
            self.alloc(LEAK_BYTES, LEAK);
            self.truth.leak_blocks += 1;
            self.truth.leak_bytes += LEAK_BYTES;
            self.now_us += 2_000;
            step += 1;
        }
        let reserved = self.allocator.reserved();
        self.truth.device_free_bytes = DEVICE_BYTES - reserved;
        self.truth.asked_bytes = self.truth.device_free_bytes + (3 << 30);
        self.event("oom", self.truth.device_free_bytes, self.truth.asked_bytes, LAST);
        self.truth.end_bytes = self.held;
        self.truth.reserved_bytes = reserved;
        self.truth.events = self.events.len() as u64;
    }

    fn draw(&mut self, below: u64) -> i64 {
        self.draws = self.draws.wrapping_add(1);
        (mix(self.draws) % below) as i64
    }

    fn event(&mut self, action: &'static str, address: i64, bytes: i64, stack: u32) {
        self.now_us += 1 + self.draw(20);
        if self.recording {
            self.written += EVENT_BYTES + FRAME_BYTES * self.stacks[stack as usize].len() as u64;
            self.events.push(Event { action, address, bytes, at_us: self.now_us, stack });
        }
    }

    fn alloc(&mut self, bytes: i64, stack: u32) -> i64 {
        let given = self.allocator.alloc(bytes, stack);
        if let Some((address, bytes)) = given.segment {
            self.event("segment_alloc", address, bytes, stack);
        }
        self.event("alloc", given.address, bytes, stack);
        self.held += bytes;
        if self.recording && self.held > self.truth.peak_bytes {
            self.truth.peak_bytes = self.held;
            self.truth.peak_at_ns = MICROSECOND * self.now_us;
        }
        given.address
    }

    fn free(&mut self, address: i64, stack: u32) {
        let bytes = self.allocator.requested(address);
        self.event("free_requested", address, bytes, stack);
        self.event("free_completed", address, bytes, stack);
        self.allocator.free(address);
        self.held -= bytes;
    }

    fn write<W: Write>(&self, pickle: &mut Pickle<W>) -> io::Result<()> {
        pickle.dict(|p| {
            p.text("segments")?;
            p.list(&self.allocator.segments, |p, segment| self.segment(p, segment))?;
            p.text("device_traces")?;
            p.list([&self.events], |p, events| p.list(events, |p, event| self.trace_entry(p, event)))?;
            p.text("allocator_settings")?;
            p.dict(|p| {
                p.text("PYTORCH_CUDA_ALLOC_CONF")?;
                p.text("")?;
                p.text("expandable_segments")?;
                p.bool(false)
            })
        })
    }

    fn frames<W: Write>(&self, p: &mut Pickle<W>, stack: Option<u32>) -> io::Result<()> {
        p.text("frames")?;
        let Some(stack) = stack else { return p.list([(); 0], |_, ()| Ok(())) };
        p.again(stack, |p| {
            p.list(&self.stacks[stack as usize], |p, (name, file, line)| {
                p.dict(|p| {
                    p.text("name")?;
                    p.text(name)?;
                    p.text("filename")?;
                    p.text(file)?;
                    p.text("line")?;
                    p.int(i64::from(*line))
                })
            })
        })
    }

    fn trace_entry<W: Write>(&self, p: &mut Pickle<W>, event: &Event) -> io::Result<()> {
        p.dict(|p| {
            p.text("action")?;
            p.text(event.action)?;
            p.text(if event.action == "oom" { "device_free" } else { "addr" })?;
            p.int(event.address)?;
            let numbers = [("size", event.bytes), ("stream", 0), ("time_us", event.at_us)];
            for (key, number) in numbers {
                p.text(key)?;
                p.int(number)?;
            }
            self.frames(p, Some(event.stack))
        })
    }

    fn segment<W: Write>(&self, p: &mut Pickle<W>, segment: &allocator::Segment) -> io::Result<()> {
        p.dict(|p| {
            let held = || segment.blocks.values().filter(|block| block.held);
            let numbers = [
                ("device", 0),
                ("address", segment.address),
                ("total_size", segment.bytes),
                ("allocated_size", held().map(|block| block.bytes).sum()),
                ("requested_size", held().map(|block| block.requested).sum()),
                ("stream", 0),
            ];
            for (key, number) in numbers {
                p.text(key)?;
                p.int(number)?;
            }
            p.text("segment_type")?;
            p.text(if segment.is_small { "small" } else { "large" })?;
            p.text("is_expandable")?;
            p.bool(false)?;
            p.text("blocks")?;
            p.list(&segment.blocks, |p, (&address, block)| {
                p.dict(|p| {
                    let numbers =
                        [("address", address), ("size", block.bytes), ("requested_size", block.requested)];
                    for (key, number) in numbers {
                        p.text(key)?;
                        p.int(number)?;
                    }
                    p.text("state")?;
                    p.text(if block.held { "active_allocated" } else { "inactive" })?;
                    // Blocks from before the record have no stack.
                    self.frames(p, Some(block.stack).filter(|&stack| block.held && stack != PARAMETERS))
                })
            })
        })
    }
}
