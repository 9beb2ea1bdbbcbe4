//! One moment on all the clocks that traces use.

/// A clock for the timestamps of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Time since boot, including sleep: rocprofv3, rocpd and ROCm Systems Profiler.
    #[default]
    Boot,
    /// Time since boot without sleep: the legacy rocprof.
    Monotonic,
    /// Time of day: torch's profiler.
    Wall,
}

/// One moment, in nanoseconds of each clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Since boot.
    pub boot_ns: i64,
    /// Since boot without sleep.
    pub monotonic_ns: i64,
    /// Since 1970.
    pub wall_ns: i64,
}

impl Moment {
    /// The current moment.
    pub fn now() -> Self {
        let read = |clock| {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: the pointer is to a live timespec.
            unsafe { libc::clock_gettime(clock, &mut time) };
            time.tv_sec * 1_000_000_000 + time.tv_nsec
        };
        Self {
            boot_ns: read(libc::CLOCK_BOOTTIME),
            monotonic_ns: read(libc::CLOCK_MONOTONIC),
            wall_ns: read(libc::CLOCK_REALTIME),
        }
    }

    /// The moment on one clock.
    pub fn on(&self, clock: Clock) -> i64 {
        match clock {
            Clock::Boot => self.boot_ns,
            Clock::Monotonic => self.monotonic_ns,
            Clock::Wall => self.wall_ns,
        }
    }

    /// Local time as madengine writes it: `2025-06-16 14:24:55.973751`.
    pub fn local(&self) -> String {
        let seconds: libc::time_t = self.wall_ns.div_euclid(1_000_000_000);
        let micros = self.wall_ns.rem_euclid(1_000_000_000) / 1000;
        // SAFETY: all zeros is a valid `tm`, and both pointers are to live values.
        let time = unsafe {
            let mut time: libc::tm = std::mem::zeroed();
            libc::localtime_r(&seconds, &mut time);
            time
        };
        format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{micros:06}",
            time.tm_year + 1900,
            time.tm_mon + 1,
            time.tm_mday,
            time.tm_hour,
            time.tm_min,
            time.tm_sec
        )
    }
}
