//! Attacks: wrong host names, other sites, wrong tokens, hostile names and archives.

mod common;

use common::{READ, Server, WRITE, archive, attach, entry, entry_of_size, file, metric, printed};
use rocm_perf_serve::{Dashboard, Options, ServeError};
use serde_json::json;

const XSS: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

fn one() -> impl FnOnce(&mut store::Store) {
    |store: &mut store::Store| {
        store.new_experiment("decode", "").unwrap();
        attach(store, "decode", "t1", Vec::new(), vec![metric("latency", "ms", 12.0)]);
    }
}

fn bearer(token: &str) -> (&'static str, String) {
    ("Authorization", format!("Bearer {token}"))
}

#[test]
fn only_known_names_are_answered() {
    let server = Server::open(one());
    for host in ["evil.example", "evil.example:7420", "localhost.evil.example", ""] {
        for path in ["/", "/api/v1/experiments", "/metrics", "/assets/x", "/login"] {
            let answer = server.ask("GET", path, &[("Host", host)], b"");
            assert_eq!(answer.status, 403, "{host} {path}");
            assert!(!answer.text().contains("decode"), "{host} {path}");
        }
    }
    for host in ["localhost:7420", "127.0.0.1", "[::1]:7420", "perf.example.com"] {
        assert_eq!(server.ask("GET", "/", &[("Host", host)], b"").status, 200, "{host}");
    }
}

#[test]
fn other_sites_cannot_write() {
    let server = Server::open(one());
    let body = b"{\"name\": \"new\"}";
    let json = ("Content-Type", "application/json");
    for foreign in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        let answer = server.ask("POST", "/api/v1/experiments", &[json, foreign], body);
        assert_eq!(answer.status, 403, "{foreign:?}");
    }
    let own = format!("http://{}", server.address);
    let answer = server.ask("POST", "/api/v1/experiments", &[json, ("Origin", &own)], body);
    assert_eq!(answer.status, 201);
    let statuses: Vec<i64> = server.audit().iter().map(|line| line["status"].as_i64().unwrap()).collect();
    assert_eq!(statuses, [403, 403, 403, 403, 201], "refused writes are listed too");
}

#[test]
fn a_form_must_come_from_a_page_of_this_server() {
    let server = Server::open(one());
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let path = "/experiments/decode/alerts/suppress";
    let without = server.ask("POST", path, &[form], b"metric=latency&reason=x");
    assert_eq!(without.status, 403);
    let wrong = server.ask("POST", path, &[form], b"word=00&metric=latency&reason=x");
    assert_eq!(wrong.status, 403);
}

#[test]
fn tokens_open_what_their_role_allows() {
    let server = Server::with_tokens(one());
    let anonymous = server.get("/api/v1/experiments");
    assert_eq!((anonymous.status, anonymous.header("www-authenticate")), (401, Some("Bearer")));
    let page = server.get("/experiments/decode?q=a%20b");
    assert_eq!(
        (page.status, page.header("location")),
        (303, Some("/login?next=%2Fexperiments%2Fdecode%3Fq%3Da%2520b"))
    );
    assert_eq!(server.get("/metrics").status, 401);
    let (name, read) = bearer(READ);
    let (_, write) = bearer(WRITE);
    assert_eq!(server.ask("GET", "/api/v1/experiments", &[(name, &read)], b"").status, 200);
    let json = ("Content-Type", "application/json");
    let make =
        |token: &str| server.ask("POST", "/api/v1/experiments", &[json, (name, token)], b"{\"name\": \"n\"}");
    assert_eq!(make(&read).status, 403);
    assert_eq!(make(&write).status, 201);
    assert_eq!(server.ask("GET", "/", &[(name, "Basic eDp5")], b"").status, 303);
    let roles: Vec<String> =
        server.audit().iter().map(|line| line["role"].as_str().unwrap().to_string()).collect();
    assert_eq!(roles, ["none", "write"]);
}

#[test]
fn a_browser_logs_in_and_out() {
    let server = Server::with_tokens(one());
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let wrong = server.ask("POST", "/login", &[form], b"token=nothing-of-the-kind&next=/");
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("set-cookie").is_none() && wrong.text().contains("not known"));
    let body = format!("token={WRITE}&next=//evil.example");
    let answer = server.ask("POST", "/login", &[form], body.as_bytes());
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "nobody is sent elsewhere");
    let cookie = answer.header("set-cookie").unwrap().to_string();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let session = cookie.split(';').next().unwrap().to_string();
    let page = server.ask("GET", "/", &[("Cookie", &session)], b"");
    assert_eq!(page.status, 200);
    let text = page.text();
    let word = text.split("name=\"word\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    // The form word of one session is not valid for another.
    let (name, write) = bearer(WRITE);
    let body = format!("word={word}&metric=latency&reason=x");
    let other =
        server.ask("POST", "/experiments/decode/alerts/suppress", &[form, (name, &write)], body.as_bytes());
    assert_eq!(other.status, 403);
    let out = server.ask("POST", "/logout", &[form, ("Cookie", &session)], format!("word={word}").as_bytes());
    assert_eq!(out.status, 303);
    assert_eq!(server.ask("GET", "/", &[("Cookie", &session)], b"").status, 303);
}

#[test]
fn who_guesses_tokens_has_to_wait() {
    let server = Server::with_tokens(one());
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let logged_in = server.ask("POST", "/login", &[form], format!("token={READ}").as_bytes());
    let session = logged_in.header("set-cookie").unwrap().split(';').next().unwrap().to_string();
    let (name, wrong) = bearer("wrong-token-0123456789");
    for _ in 0..10 {
        assert_eq!(server.ask("GET", "/api/v1/experiments", &[(name, &wrong)], b"").status, 401);
    }
    let (_, right) = bearer(WRITE);
    for token in [&wrong, &right] {
        let answer = server.ask("GET", "/api/v1/experiments", &[(name, token)], b"");
        assert_eq!(answer.status, 429);
        assert!(answer.header("retry-after").is_some());
    }
    assert_eq!(server.ask("GET", "/", &[("Cookie", &session)], b"").status, 200, "who is logged in goes on");
}

#[test]
fn a_network_needs_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let listen = "0.0.0.0:0".parse().unwrap();
    let options = Options { place: common::place(&folder), listen, ..Options::default() };
    assert!(matches!(Dashboard::open(&options), Err(ServeError::NeedsToken(_))));
}

/// Every attribute that runs code or holds style, and every script that is not a file of the server.
fn inline(page: &str) -> Option<String> {
    let lower = page.to_lowercase();
    let tags = lower.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default().to_string());
    tags.into_iter().find(|tag| {
        // What is between quotes is an attribute's value, whatever it looks like.
        let names: String = tag.split('"').step_by(2).collect();
        let is_handler = |word: &str| word.starts_with("on") && word.contains('=');
        names.split_whitespace().skip(1).any(is_handler)
            || names.contains(" style=")
            || tag.contains("=\"javascript:")
            || (tag.starts_with("script") && !tag.contains(" src=\"/assets/"))
    })
}

#[test]
fn hostile_names_stay_text_on_every_page() {
    let experiment = format!("e {}", XSS.replace('/', "|"));
    let trial = format!("t {}", XSS.replace('/', "|"));
    let server = Server::open(|store| {
        store.new_experiment(&experiment, XSS).unwrap();
        let rows = json!([{ "name": XSS, "total_ns": 5, "share_pct": 50.0, "cause": XSS, "idle_ns": 7 }]);
        let mut explain: serde_json::Value =
            serde_json::from_slice(&printed("explain", "idle_causes", rows.clone())).unwrap();
        explain["verdict"] = json!({ "text": XSS, "arch_match": XSS, "hardware_relevance_reason": XSS, "why_not": [XSS], "trusted": false });
        explain["findings"] = json!([{ "title": XSS, "severity": XSS, "recommendation": XSS, "next": XSS, "evidence": { XSS: XSS } }]);
        explain["health"] = json!({ "status": "warn", "checks": [{ "status": "warn", "message": XSS }] });
        explain["notes"] = json!([XSS]);
        let chart = json!({
            "name": "flame_graph", "title": XSS, "description": XSS, "mark": "bars", "x": { "label": XSS }, "y": {},
            "data": { "series": [XSS, XSS], "bars": [{ "label": XSS, "values": [1.0, 2.0], "tip": XSS, "end": XSS }] },
        });
        let mut ops: serde_json::Value = serde_json::from_slice(&printed("ops", XSS, rows.clone())).unwrap();
        ops["charts"] = json!([chart]);
        let files = vec![
            file("summary.json", printed("summary", "kernels", rows)),
            file("explain.json", explain.to_string()),
            file("ops.json", ops.to_string()),
            file(&format!("x/{}", XSS.replace('/', "|")), b"x"),
        ];
        attach(store, &experiment, &trial, files, vec![metric("latency", XSS, 12.0)]);
        attach(store, &experiment, "t2", Vec::new(), vec![metric("latency", XSS, 13.0)]);
        store.tag(&experiment, Some(&trial), &[XSS.replace('/', "|")], &[]).unwrap();
        store.add_note(&experiment, Some(&trial), XSS).unwrap();
        store
            .add_link(&experiment, None, &store::Link { url: format!("https://x/{XSS}"), text: XSS.into() })
            .unwrap();
    });
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let (e, t) = (escaped(&experiment), escaped(&trial));
    for path in [
        "/".to_string(),
        format!("/?q={}", escaped("<script>")),
        "/alerts".into(),
        "/live".into(),
        format!("/login?next={}", escaped(XSS)),
        format!("/experiments/{e}"),
        format!("/experiments/{e}?q={}", escaped("<script>")),
        format!("/experiments/{e}/trials/{t}"),
        format!(
            "/experiments/{e}/trials/{t}/tables?artifact=summary.json&table=kernels&q={}",
            escaped("alert")
        ),
        format!("/experiments/{e}/trials/{t}/tables?artifact=ops.json&table={}", escaped(XSS)),
        format!("/experiments/{e}/compare?base={t}&candidate=t2"),
        format!("/experiments/{}", escaped(XSS)),
        format!("/{}", escaped(XSS)),
    ] {
        let answer = server.get(&path);
        assert!([200, 303, 404].contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
        let page = answer.text();
        assert!(!page.contains("<script>") && !page.contains("<img"), "{path}");
        assert_eq!(inline(&page), None, "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
    let page = server.get(&format!("/experiments/{e}/trials/{t}")).text();
    assert!(page.contains("&lt;script&gt;alert(1)"), "it is shown as text");
}

#[test]
fn hostile_archives_are_refused_and_leave_nothing() {
    let server = Server::open(one());
    let end = [0u8; 1024];
    let with_end = |entry: Vec<u8>| [entry, end.to_vec()].concat();
    let deep = format!("{}x", "d/".repeat(17));
    let many: Vec<u8> = (0..2001).flat_map(|at| entry(&format!("f{at}"), b'0', "", b"")).collect();
    let mut damaged = archive(&[("a", b"x")]);
    damaged[3] ^= 0x55;
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("above", archive(&[("../evil", b"x")]), 400),
        ("within", archive(&[("a/../../evil", b"x")]), 400),
        ("absolute", archive(&[("/tmp/evil", b"x")]), 400),
        ("backslash", archive(&[("a\\b", b"x")]), 400),
        ("control", archive(&[("a\nb", b"x")]), 400),
        ("symbolic link", with_end(entry("a", b'2', "/etc/passwd", b"")), 400),
        ("hard link", with_end(entry("a", b'1', "/etc/passwd", b"")), 400),
        ("device", with_end(entry("a", b'3', "", b"")), 400),
        ("pipe", with_end(entry("a", b'6', "", b"")), 400),
        (
            "long name above",
            with_end([entry("l", b'L', "", b"../evil\0"), entry("a", b'0', "", b"x")].concat()),
            400,
        ),
        (
            "pax name above",
            with_end([entry("p", b'x', "", b"16 path=../evil\n"), entry("a", b'0', "", b"x")].concat()),
            400,
        ),
        ("twice", archive(&[("a", b"x"), ("a", b"y")]), 400),
        ("file as folder", archive(&[("a", b"x"), ("a/b", b"y")]), 400),
        ("deep", archive(&[(&deep, b"x")]), 400),
        ("many", with_end(many), 413),
        ("says too much", with_end(entry_of_size("a", b'0', "", b"", 0o77777777777)), 413),
        ("ends early", entry("a", b'0', "", &[1; 2000])[..1000].to_vec(), 400),
        ("damaged", damaged, 400),
        ("no archive", b"<html>".repeat(200), 400),
        ("half a gzip", vec![0x1f, 0x8b, 8, 0, 0], 400),
    ];
    for (what, body, status) in cases {
        let answer = server.ask("POST", "/api/v1/experiments/decode/trials/evil/bundle", &[], &body);
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
    }
    assert_eq!(server.get("/api/v1/experiments/decode/trials/evil").status, 404);
    assert!(!server.folder.path().join("evil").exists());
    let left = std::fs::read_dir(server.folder.path().join("team.db.artifacts")).unwrap();
    let left: Vec<String> =
        left.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.contains("upload")), "{left:?}");
}

#[test]
fn a_bomb_is_stopped_while_it_grows() {
    let server = Server::open(one());
    // 1 GB of zeros in about 1 MB.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let size: u64 = 1 << 30;
    let head = entry_of_size("zeros", b'0', "", b"", size);
    std::io::Write::write_all(&mut packed, &head).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..200 {
        std::io::Write::write_all(&mut packed, &zeros).unwrap();
    }
    let body = packed.finish().unwrap();
    assert!(body.len() < 1 << 20);
    let answer = server.ask("POST", "/api/v1/experiments/decode/trials/bomb/bundle", &[], &body);
    assert_eq!(answer.status, 413, "{}", answer.text());
}

#[test]
fn names_that_cannot_be_are_refused() {
    let server = Server::open(one());
    let body = archive(&[("a", b"x")]);
    for trial in ["..", "%2e%2e", "a%2Fb", "-x", "%0a", "a%5Cb"] {
        let path = format!("/api/v1/experiments/decode/trials/{trial}/bundle");
        let answer = server.ask("POST", &path, &[], &body);
        assert!([400, 404, 405].contains(&answer.status), "{trial}: {} {}", answer.status, answer.text());
    }
    assert_eq!(server.json("/api/v1/experiments/decode")["trials"].as_array().map(Vec::len), Some(1));
}

#[test]
fn there_is_no_listing_of_folders() {
    let server = Server::open(one());
    for path in ["/assets/", "/assets/../src", "/assets", "/.git/config", "/api", "/api/v1", "/experiments"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}
