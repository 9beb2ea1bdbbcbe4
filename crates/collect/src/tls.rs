//! Encrypted connections, with the system's CA certificates or the user's file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Where systems keep CA certificates.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The TLS configuration; an error if there are no certificates to trust.
pub fn config(trusted: Option<&Path>) -> Result<TlsConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificates = certificates(trusted)?;
    Ok(TlsConfig::builder()
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::new_with_certs(&certificates))
        .build())
}

fn certificates(trusted: Option<&Path>) -> Result<Vec<Certificate<'static>>, String> {
    let given = trusted.map(Path::to_path_buf);
    let system = || BUNDLES.iter().map(PathBuf::from).find(|path| path.is_file());
    let path = given.or_else(system).ok_or("cannot be trusted: this machine has no CA certificates")?;
    let wrong = |why: &str| format!("cannot be trusted: `{}` {why}", path.display());
    let bytes = std::fs::read(&path).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let certificates: Vec<_> = parse_pem(&bytes)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() { Err(wrong("holds no certificates")) } else { Ok(certificates) }
}
