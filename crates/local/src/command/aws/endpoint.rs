//! Finds the endpoint to call, and decides if it may be AWS.

use std::net::IpAddr;

use anyhow::bail;
use aws_config::SdkConfig;
use aws_types::service_config::ServiceConfigKey;
use http::Uri;
use redrive_sqs::Quoted;

/// Names of this machine. Their subdomains count too.
const THIS_MACHINE: [&str; 3] = ["localhost", "host.docker.internal", "localhost.localstack.cloud"];

/// Returns an endpoint's URL without a trailing slash.
pub fn endpoint(url: &str) -> anyhow::Result<String> {
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    match host.is_some_and(|host| !host.trim_matches('/').is_empty()) {
        true => Ok(url.trim_end_matches('/').to_owned()),
        false => bail!("--endpoint-url is {}, allowed: http://HOST:PORT or https://HOST:PORT", Quoted(url)),
    }
}

/// Returns the endpoint that a flag, the environment or the profile sets for SQS, as its client reads it, or None for AWS
/// itself.
pub fn of_sqs(config: &SdkConfig) -> Option<String> {
    let of_all = config.endpoint_url().map(str::to_owned);
    if config.get_origin("endpoint_url").is_client_config() {
        return of_all;
    }
    let key = ServiceConfigKey::builder().service_id("SQS").env("AWS_ENDPOINT_URL").profile("endpoint_url");
    let of_sqs = key.build().ok().and_then(|key| config.service_config()?.load_config(key));
    of_sqs.or(of_all)
}

/// Refuses settings that replace AWS's endpoint of SQS.
///
/// # Errors
/// Returns an error if an endpoint is set.
pub fn check_is_aws(config: &SdkConfig) -> anyhow::Result<()> {
    let Some(url) = of_sqs(config) else { return Ok(()) };
    let is_from = |name: &&str| std::env::var(name).is_ok_and(|value| value == url);
    let variable = ["AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL"].into_iter().find(is_from);
    let named = variable.unwrap_or("endpoint_url of your profile");
    let otherwise = "unset it, or pass it as --endpoint-url instead of --aws";
    bail!("--aws calls AWS itself, but {named} is {}: {otherwise}", Quoted(&url))
}

/// Returns true if a URL leads to this machine.
pub fn is_loopback(url: &str) -> bool {
    host(url).is_some_and(|host| {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

/// Returns true if a URL certainly leads to an emulator: to this machine, or to a name without a dot, such as a container's.
/// All others may be AWS: a VPC address, a company's own name, a proxy, a new partition.
pub fn is_emulator(url: &str) -> bool {
    is_loopback(url)
        || host(url).is_some_and(|host| {
            let is_under = |name: &str| {
                host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            THIS_MACHINE.iter().any(|name| is_under(name)) || !host.contains(['.', ':'])
        })
}

/// Returns the host of a URL, in lower case and without the brackets of IPv6.
fn host(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']).trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback_and_only_what_cannot_be_aws_is_an_emulator() {
        for (url, loopback, emulator) in [
            ("http://127.0.0.1:4566", true, true),
            ("http://localhost:4566/", true, true),
            ("http://LOCALHOST:4566", true, true),
            ("http://[::1]:4566", true, true),
            ("http://127.1.2.3", true, true),
            ("http://sqs.eu-west-1.amazonaws.com@127.0.0.1:9324", true, true),
            ("http://127.0.0.1:9324/sqs.eu-west-1.amazonaws.com", true, true),
            ("http://127.0.0.1:9324?.amazonaws.com", true, true),
            ("http://ministack:4566", false, true),
            ("http://host.docker.internal:4566", false, true),
            ("http://sqs.us-east-1.localhost.localstack.cloud:4566", false, true),
            ("https://sqs.eu-west-1.amazonaws.com", false, false),
            ("https://sqs.cn-north-1.amazonaws.com.cn", false, false),
            ("https://vpce-0a1b-2c3d.sqs.eu-west-1.vpce.amazonaws.com", false, false),
            ("https://sqs.new-partition-1.example", false, false),
            ("https://sqs.corp.internal", false, false),
            ("http://proxy.example.com:3128", false, false),
            ("http://127.0.0.1:80@sqs.eu-west-1.amazonaws.com", false, false),
            ("http://localhost@sqs.eu-west-1.amazonaws.com", false, false),
            ("http://localhost.example.com", false, false),
            ("http://127.0.0.1.example.com", false, false),
            ("http://10.0.0.1:4566", false, false),
            ("http://[fd00::1]:4566", false, false),
            ("", false, false),
        ] {
            assert_eq!((is_loopback(url), is_emulator(url)), (loopback, emulator), "{url}");
        }
    }
}
