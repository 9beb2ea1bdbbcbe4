//! Host names that the server accepts. A foreign page whose name was made to point here (DNS rebinding) sends
//! its own name and is refused.

use std::net::IpAddr;

/// The host of `host:port`, without brackets.
pub fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether a request may use this host: an address, `localhost`, or an allowed name.
pub fn is_allowed(host: &str, allowed: &[String]) -> bool {
    let name = name_of(host);
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    // Only a name can be made to point elsewhere, not an address.
    name.parse::<IpAddr>().is_ok() || is("localhost") || allowed.iter().any(|other| is(name_of(other)))
}

/// Whether an `Origin` is the one that the request was sent to.
pub fn is_same_origin(origin: &str, host: &str) -> bool {
    let authority = origin.split_once("://").map(|(_, rest)| rest);
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_answered() {
        let allowed = ["perf.example.com".to_string()];
        for host in
            ["127.0.0.1:7420", "localhost:7420", "LOCALHOST", "[::1]:7420", "10.1.2.3", "perf.example.com"]
        {
            assert!(is_allowed(host, &allowed), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:7420",
            "127.0.0.1.evil.example",
            "localhost.evil.example:1",
            "",
            "a:b",
        ] {
            assert!(!is_allowed(host, &allowed), "{host}");
        }
    }

    #[test]
    fn an_origin_is_compared_whole() {
        assert!(is_same_origin("http://127.0.0.1:7420", "127.0.0.1:7420"));
        assert!(is_same_origin("https://perf.example.com", "perf.example.com"));
        for origin in
            ["http://127.0.0.1:80", "null", "http://evil.example", "http://127.0.0.1:7420.evil.example"]
        {
            assert!(!is_same_origin(origin, "127.0.0.1:7420"), "{origin}");
        }
    }
}
