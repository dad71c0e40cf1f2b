//! A certificate for the mock AWS API that a client trusts.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::NamedTempFile;

/// Paths of the system's certificates, on Debian and on Amazon Linux.
const SYSTEM: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// An authority that has signed a certificate for this machine.
#[derive(Debug)]
pub(crate) struct Authority {
    pub(crate) server: Arc<ServerConfig>,
    /// The system's certificates and the authority's, so that reading them costs what it costs elsewhere.
    pub(crate) bundle: NamedTempFile,
}

impl Authority {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
        let server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        let system = SYSTEM.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let mut bundle = NamedTempFile::new()?;
        bundle.write_all((system + &authority.pem()).as_bytes())?;
        Ok(Self { server: Arc::new(server), bundle })
    }
}
