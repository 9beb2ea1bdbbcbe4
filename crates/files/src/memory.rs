//! The memory that this program may use. When it runs out: a one-line message, and no partial files.

#[cfg(not(target_env = "musl"))]
pub(crate) use std::alloc::System;
use std::alloc::{GlobalAlloc, Layout};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::large_blocks;
use crate::output::remove_partial_files_if_free;

/// The allocator in static builds: musl's own has one lock for all threads.
#[cfg(target_env = "musl")]
#[allow(non_upper_case_globals)]
pub(crate) const System: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The largest share of the machine's or container's memory that we use.
const SHARE: f64 = 0.9;
/// Nothing useful can be read with less.
const LEAST: u64 = 64 << 20;

/// Limit for freed memory that is kept, in bytes.
#[cfg(target_env = "gnu")]
const KEPT_FREE: i32 = 256 << 20;

/// The budget in bytes; 0 before [`limit`].
static BUDGET: AtomicU64 = AtomicU64::new(0);
/// Advice for the message.
static REMEDY: OnceLock<&str> = OnceLock::new();
/// The current activity, for the message.
static DOING: Mutex<String> = Mutex::new(String::new());

/// Memory of this machine, or of the container if that has less.
pub fn of_machine() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let total = read("/proc/meminfo")
        .lines()
        .find_map(|line| {
            line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
        })
        .map_or(u64::MAX, |kilobytes| kilobytes << 10);
    total.min(of_groups(Path::new("/sys/fs/cgroup"), &read("/proc/self/cgroup")))
}

/// The lowest limit of our control groups: version 2, version 1, and the container's root.
fn of_groups(root: &Path, own: &str) -> u64 {
    let number = |path: &Path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let mut least = [root.join("memory.max"), root.join("memory/memory.limit_in_bytes")]
        .iter()
        .filter_map(|path| number(path))
        .min()
        .unwrap_or(u64::MAX);
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next(), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (base, file) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            list if list.split(',').any(|one| one == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // A group is also limited by each group above it.
        let mut path = Path::new(path.trim_start_matches('/'));
        loop {
            least = least.min(number(&base.join(path).join(file)).unwrap_or(u64::MAX));
            match path.parent() {
                Some(above) => path = above,
                None => break,
            }
        }
    }
    least
}

/// Limits this process to this many bytes, or to a share of the machine's memory; `remedy` is the advice if
/// that is not enough. Programs started through [`crate::process`] are not limited.
pub fn limit(bytes: Option<u64>, remedy: &'static str) {
    REMEDY.get_or_init(|| remedy);
    let budget = bytes.unwrap_or_else(|| (of_machine() as f64 * SHARE) as u64).max(LEAST);
    BUDGET.store(budget, Ordering::Relaxed);
    set_data_limit(budget);
}

/// Removes the limit. Makes two system calls, so it may be called between fork and exec.
pub(crate) fn unlimit() {
    set_data_limit(u64::MAX);
}

fn set_data_limit(bytes: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours and valid. It limits private memory; mapped inputs do not count.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_DATA, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(bytes);
            libc::setrlimit(libc::RLIMIT_DATA, &limit);
        }
    }
}

/// Keeps freed memory for the next question: for programs that answer many questions.
/// Returning it and requesting it again takes a third of the time of an answer.
pub fn keep_for_next_question() {
    #[cfg(target_env = "gnu")]
    // SAFETY: this changes where the allocator gets memory, nothing already allocated.
    unsafe {
        // Arenas of threads grow page by page.
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    keep_for_next_trace();
}

/// Keeps freed memory for the next trace: for programs that read many and drop them.
pub fn keep_for_next_trace() {
    large_blocks::stay_after_answer();
    #[cfg(target_env = "gnu")]
    // SAFETY: these calls change how the allocator grows and shrinks, nothing already allocated.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, 16 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_FREE);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
    }
}

/// Sets the current activity, for the message.
pub fn doing(what: &str) {
    *DOING.lock().unwrap_or_else(|e| e.into_inner()) = what.to_string();
}

/// The system's allocator (mimalloc in static builds). Out of memory prints one line and exits with code 2.
pub struct Reporting;

// SAFETY: every call goes to the allocator below with the same arguments; a null pointer is never returned.
unsafe impl GlobalAlloc for Reporting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        there(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        there(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { large_blocks::free(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        there(unsafe { System.realloc(pointer, layout, size) }, size)
    }
}

#[inline]
fn there(pointer: *mut u8, asked: usize) -> *mut u8 {
    if pointer.is_null() {
        out_of_memory(asked);
    }
    pointer
}

#[cold]
fn out_of_memory(asked: usize) -> ! {
    // The message and the removal of partial files need a little memory.
    unlimit();
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let budget = gigabytes(BUDGET.load(Ordering::Relaxed));
    let doing = DOING.try_lock().map(|text| text.clone()).unwrap_or_default();
    let doing = if doing.is_empty() { String::new() } else { format!(" while {doing}") };
    let asked = gigabytes(asked as u64);
    eprintln!("error: out of memory{doing}: {asked:.2} GB more would exceed the limit of {budget:.1} GB");
    if let Some(remedy) = REMEDY.get() {
        eprintln!(" help: {remedy}");
    }
    remove_partial_files_if_free();
    // SAFETY: ends the process without running destructors, which could need memory.
    unsafe { libc::_exit(2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_with_less_memory_than_its_machine_sets_the_budget() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(of_groups(root.path(), "0::/job/step\n"), u64::MAX);
        write("job/step/memory.max", "max\n");
        write("job/memory.max", "8000000\n");
        assert_eq!(of_groups(root.path(), "0::/job/step\n"), 8_000_000, "of the group above");
        write("memory/old/memory.limit_in_bytes", "5000000\n");
        assert_eq!(of_groups(root.path(), "7:cpu,memory:/old\n"), 5_000_000);
        write("memory.max", "3000000\n");
        assert_eq!(of_groups(root.path(), "0::/\n"), 3_000_000, "the root of a container");
        assert!(of_machine() > 1 << 20);
    }
}
