//! The report of a large run: how long it takes to make, and how long its page takes to open.

use std::path::Path;
use std::process::Command;

use crate::Bench;
use crate::measure::best_of;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

impl Bench {
    /// Of a million dispatches and two million regions: the page must open in two seconds beyond an empty one's time.
    pub fn report(&mut self, db: &Path) -> Result<(), String> {
        let page = self.data.join("report.html");
        let out = page.display().to_string();
        let cost = best_of(1, || self.rocm_perf(&["report", "--force", "--quiet", "--out", &out], db))?;
        let megabytes = std::fs::metadata(&page).map_err(|e| e.to_string())?.len() as f64 / 1e6;
        self.add("report --to html", cost, vec![("MB of page", megabytes, 5.0)]);
        let Some(browser) = BROWSERS.iter().find(|name| Command::new(name).arg("--version").output().is_ok())
        else {
            println!("  no browser: the page is not opened");
            return Ok(());
        };
        let open = |address: &str| {
            let mut command = Command::new(browser);
            command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", address]);
            command
        };
        let empty = best_of(3, || open("about:blank"))?;
        self.add("  baseline: an empty page", empty, vec![]);
        let address = format!("file://{}", page.canonicalize().map_err(|e| e.to_string())?.display());
        let opened = best_of(3, || open(&address))?;
        self.add(
            "  opening the page",
            opened,
            vec![("wall s beyond the empty page's", opened.wall - empty.wall, 2.0)],
        );
        Ok(())
    }
}
