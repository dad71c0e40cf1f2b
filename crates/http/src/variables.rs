//! The variables and the setting of a profile that describe a network.

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Variables with the proxy for HTTPS. The first that is set counts.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Variables with the hosts that are reached without a proxy. The first that is set counts.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Hosts that are never reached by the proxy, which may be elsewhere and cannot reach this machine.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";
const BUNDLE: &str = "AWS_CA_BUNDLE";

/// A setting of the network that cannot be used: the name, the value, and what is allowed.
#[derive(Debug, thiserror::Error)]
#[error("{name} is {value:?}, {problem}")]
pub struct NetworkError {
    name: &'static str,
    value: String,
    problem: String,
}

/// Reads the proxy for HTTPS, by which AWS is reached. Plain HTTP uses no proxy: its servers are near, such as an emulator or the
/// credentials of a container.
pub(crate) fn proxy(variable: impl Fn(&str) -> Option<String>) -> Result<ProxyConfig, NetworkError> {
    let first = |names: &[&'static str]| {
        names.iter().find_map(|name| Some((*name, variable(name).filter(|value| !value.is_empty())?)))
    };
    let Some((name, value)) = first(&PROXIES) else { return Ok(ProxyConfig::disabled()) };
    let url = if value.contains("://") { value.clone() } else { format!("http://{value}") };
    let proxy = ProxyConfig::https(url).map_err(|_invalid| NetworkError {
        name,
        // It may hold a password.
        value: value.rsplit_once('@').map_or(value.clone(), |(_, host)| host.to_owned()),
        problem: "allowed: http://HOST:PORT or https://HOST:PORT".to_owned(),
    })?;
    let exceptions = first(&EXCEPTIONS).map(|(_, hosts)| format!(",{hosts}")).unwrap_or_default();
    Ok(proxy.no_proxy(format!("{THIS_MACHINE}{exceptions}")))
}

/// Loads certificates from a file instead of those of the machine, as the AWS CLI does:
/// <https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html>.
pub(crate) fn certificates(
    of_variable: Option<String>,
    of_profile: Option<String>,
) -> Result<TlsContext, NetworkError> {
    let given = of_variable.map(|path| (BUNDLE, path)).or_else(|| of_profile.map(|path| ("ca_bundle", path)));
    let Some((name, path)) = given.filter(|(_, path)| !path.is_empty()) else {
        return Ok(TlsContext::default());
    };
    let read = std::fs::read(&path).map_err(|error| error.to_string());
    match read.and_then(|pem| checked(&pem).map(|()| pem)) {
        Ok(pem) => {
            let context =
                TlsContext::builder().with_trust_store(TrustStore::empty().with_pem_certificate(pem));
            Ok(context.build().unwrap_or_default())
        }
        Err(why) => Err(NetworkError {
            name,
            value: path,
            problem: format!("allowed: a file of certificates in PEM ({why})"),
        }),
    }
}

/// Checks certificates, because the client would panic for one that it cannot read.
fn checked(pem: &[u8]) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("it has no certificate".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy_of(name: &str, value: &str) -> Result<ProxyConfig, String> {
        proxy(|asked| (asked == name).then(|| value.to_owned())).map_err(|error| error.to_string())
    }

    #[test]
    fn an_invalid_proxy_is_named_without_its_password() {
        for name in PROXIES {
            assert!(
                !proxy_of(name, "http://proxy.example:3128").expect("it is right").is_disabled(),
                "{name}"
            );
        }
        assert!(!proxy_of("HTTPS_PROXY", "proxy.example:3128").expect("it is right").is_disabled());
        assert!(proxy_of("HTTPS_PROXY", "").expect("it is none").is_disabled());
        assert!(proxy_of("HTTP_PROXY", "http://proxy.example:3128").expect("it is not for us").is_disabled());
        assert_eq!(
            proxy_of("HTTPS_PROXY", "socks5://me:secret@proxy.example:1080").unwrap_err(),
            r#"HTTPS_PROXY is "proxy.example:1080", allowed: http://HOST:PORT or https://HOST:PORT"#
        );
    }

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |text: &str| {
            let path = folder.path().join("bundle.pem");
            std::fs::write(&path, text).expect("it is written");
            certificates(None, Some(path.to_str().expect("text").to_owned()))
                .map_err(|error| error.to_string())
        };
        let certificate =
            rcgen::generate_simple_self_signed(vec!["sqs.example".to_owned()]).expect("a certificate");
        assert!(of(&certificate.cert.pem()).is_ok());
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for wrong in ["", "no certificates", broken] {
            let error = of(wrong).unwrap_err();
            assert!(error.starts_with("ca_bundle is ") && error.contains("allowed: a file of"), "{error}");
        }
        let missing = certificates(Some("/no/such.pem".to_owned()), None).unwrap_err().to_string();
        assert!(missing.starts_with(r#"AWS_CA_BUNDLE is "/no/such.pem", allowed: a file of"#), "{missing}");
    }
}
