//! Reading JAX profiles.

use crate::Bench;
use crate::measure::best_of;

/// Bytes to read per second of CPU time.
const RATE: f64 = 400e6;

impl Bench {
    /// Python frames and calls make most of a profile; `summary` leaves the frames out.
    pub fn jax(&mut self) -> Result<(), String> {
        let size = self.torch_bytes.to_string();
        let profile =
            self.data("xplane", &["--to", "xplane", "--ranks", "1", "--size", &size], ".xplane.pb")?;
        let bytes = std::fs::metadata(&profile).map_err(|e| e.to_string())?.len() as f64;
        let cost = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], &profile))?;
        let limits = vec![("400 MB per CPU s over its rate", RATE / (bytes / cost.cpu), 1.0)];
        self.add("summary xplane.pb", cost, limits);
        Ok(())
    }
}
