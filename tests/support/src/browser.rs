//! A browser that tests control: pages as people see them, after scripts and styles, with clicks and forms.
//!
//! It uses the browser's own protocol over a pipe, so only the browser has to be installed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    session: String,
    _profile: Profile,
}

/// The folder of a browser's own files, removed with it.
struct Profile(std::path::PathBuf);

impl Drop for Profile {
    fn drop(&mut self) {
        // Left-overs in a temporary folder do no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Browser {
    /// Starts a browser; if there is none, the calling test is skipped.
    pub fn start() -> Option<Self> {
        let program = crate::tool(&["chromium", "chromium-browser", "google-chrome"])?;
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let profile = std::env::temp_dir().join(format!("browser-{}-{number}", std::process::id()));
        // The browser reads commands from its descriptor 3 and answers on 4.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";
        let mut process = Command::new("sh")
            .args(["-c", script, program, "--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let to = process.stdin.take().expect("a pipe");
        let from = messages(process.stdout.take().expect("a pipe"));
        let mut browser =
            Self { process, to, from, next: 0, session: String::new(), _profile: Profile(profile) };
        let made = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": made["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", target);
        browser.session = attached["sessionId"].as_str().expect("a session").to_string();
        browser.call("Page.enable", json!({}));
        browser.call("Network.enable", json!({}));
        Some(browser)
    }

    /// Opens an address and waits until the page is loaded.
    pub fn open(&mut self, address: &str) {
        self.call("Page.navigate", json!({ "url": address }));
        self.until("Page.loadEventFired");
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        if let Some(wrong) = answer.get("exceptionDetails") {
            panic!("{expression}: {wrong}");
        }
        answer["result"]["value"].clone()
    }

    /// The text of an expression in the page.
    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_string()
    }

    /// Clicks what a selector finds, and waits for the next page.
    pub fn follow(&mut self, selector: &str) {
        let selector = Value::from(selector);
        let there = self.value(&format!("!!document.querySelector({selector})"));
        assert_eq!(there, true, "{selector} is not on {}", self.text("location.href"));
        // Clicks after the answer is sent, so that the answer does not get lost with the page.
        self.value(&format!("setTimeout(() => document.querySelector({selector}).click(), 0), true"));
        self.until("Page.loadEventFired");
    }

    /// Shows pages at this size and in a `light` or `dark` scheme.
    pub fn look(&mut self, width: u32, height: u32, scheme: &str) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }),
        );
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Switches scripts of pages off or on.
    pub fn scripts(&mut self, on: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({ "value": !on }));
    }

    /// Writes a screenshot of the page.
    pub fn picture(&mut self, path: &Path) {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let text = answer["data"].as_str().expect("a picture");
        std::fs::write(path, of_base64(text)).expect("written");
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer = self.message();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Waits for an event.
    fn until(&mut self, event: &str) {
        let end = Instant::now() + PATIENCE;
        while self.message()["method"] != event {
            assert!(Instant::now() < end, "{event} does not come");
        }
    }

    fn message(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("the browser answers")
    }
}

/// Messages from the browser, read by a thread so that nobody waits forever.
fn messages(from: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let mut bytes = Vec::new();
            // When the browser ends, the thread ends, and so does any waiting for messages.
            if from.read_until(0, &mut bytes).is_err() || bytes.pop() != Some(0) {
                return;
            }
            let Ok(message) = serde_json::from_slice(&bytes) else { return };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Bytes of text in base 64.
fn of_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(digit).collect();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let bits =
            four.iter().enumerate().fold(0u32, |bits, (at, digit)| bits | u32::from(*digit) << (18 - 6 * at));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

/// What an accessibility checker would call serious: missing names, headings out of order, text that is hard to read.
/// Give it to [`Browser::value`]; it answers a list of findings.
pub const ACCESSIBILITY: &str = include_str!("accessibility.js");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_seen_clicked_and_checked() {
        let Some(mut browser) = Browser::start() else { return };
        let page = |text: &str| {
            let folder =
                std::env::temp_dir().join(format!("page-{}-{}.html", std::process::id(), text.len()));
            std::fs::write(&folder, text).expect("written");
            folder
        };
        let good = page(
            "<!doctype html><html lang=en><title>b</title><meta name=viewport content='width=device-width'>\
             <main><h1>second</h1></main>",
        );
        let bad = page(&format!(
            "<!doctype html><html lang=en><title>a</title><meta name=viewport content='width=device-width'>\
             <main><h1>first</h1><h3>too deep</h3><p style='color:#aaa'>pale</p><input>\
             <a id=next href='file://{}'>next</a></main>",
            good.display()
        ));
        browser.look(390, 800, "light");
        browser.open(&format!("file://{}", bad.display()));
        let found = browser.value(ACCESSIBILITY);
        let found: Vec<&str> = found.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let has = |what: &str| found.iter().any(|one| one.starts_with(what));
        assert!(
            has("a control has no name") && has("a heading of level 3") && has("text has a contrast of 2.3")
        );
        assert_eq!(found.len(), 3, "{found:?}");
        browser.follow("#next");
        assert_eq!(browser.text("document.querySelector('h1').textContent"), "second");
        assert_eq!(browser.value(ACCESSIBILITY), json!([]));
        [good, bad].iter().for_each(|path| std::fs::remove_file(path).expect("removed"));
    }
}
