//! Finds AWS as the AWS command line does: region, profile, endpoint and credentials.

mod endpoint;
mod wire;

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use clap::Args;
use redrive_http::Network;
use redrive_iac::nearest::or_known;
use redrive_sqs::Quoted;

pub use self::endpoint::{check_is_aws, endpoint, is_emulator, is_loopback, of_sqs};
pub use self::wire::{ANSWERED_BY, Wire};

/// Default time limit of a call.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Default region of an endpoint on this machine.
const LOCAL_REGION: &str = "us-east-1";

/// Which AWS.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "AWS")]
pub struct Place {
    /// Region [default: the one of your AWS settings]
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,

    /// Profile of your AWS settings
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,

    /// Endpoint to call instead of AWS, such as that of `redrive local` [default: AWS_ENDPOINT_URL, else endpoint_url of the
    /// profile, else AWS]
    #[arg(long, value_name = "URL")]
    pub endpoint_url: Option<String>,

    /// Seconds that a call may take before the command gives up, 2 to 3600 [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(2..=3_600))]
    pub timeout: Option<u64>,

    /// The region, if neither `region` nor the settings have one: that of a queue's URL or ARN.
    #[arg(skip)]
    pub otherwise: Option<String>,
}

/// Reads the settings, calling no service except the one that provides the credentials.
///
/// # Errors
/// Returns an error without a region or without credentials.
pub async fn connect(place: &Place) -> anyhow::Result<(SdkConfig, Wire)> {
    let limit = place.timeout.map_or(TIMEOUT, Duration::from_secs);
    let config = settings(place, limit).await?;
    let wire = Wire::around(config.http_client().context("no HTTP client")?, limit);
    Ok((wire.on(config), wire))
}

async fn settings(place: &Place, limit: Duration) -> anyhow::Result<SdkConfig> {
    let http = Network::of_environment(place.profile.as_deref()).await?.client(None);
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(limit).build();
    let mut loader =
        aws_config::defaults(BehaviorVersion::latest()).http_client(http).timeout_config(timeouts);
    if let Some(profile) = &place.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(region) = &place.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(url) = &place.endpoint_url {
        loader = loader.endpoint_url(endpoint(url)?);
        // With TLS or a profile, a loopback endpoint may be a tunnel to AWS.
        if is_loopback(url) && url.starts_with("http:") && place.profile.is_none() {
            loader = loader.credentials_provider(for_this_machine());
        }
    }
    check_environment(std::env::vars())?;
    check_profile(place).await?;
    let mut config = loader.load().await;
    let here = of_sqs(&config).is_some_and(|url| is_loopback(&url));
    if config.region().is_none() {
        let otherwise = place.otherwise.clone().or_else(|| here.then(|| LOCAL_REGION.to_owned()));
        config = config.into_builder().region(otherwise.map(Region::new)).build();
    }
    if config.region().is_none() {
        match &place.profile {
            Some(profile) => bail!("the profile {profile} has no region: pass --region, or set AWS_REGION"),
            None => bail!("no region: pass --region, or set AWS_REGION"),
        }
    }
    match credentials(&config, place).await {
        Ok(_) => Ok(config),
        Err(_) if here => {
            let provider = SharedCredentialsProvider::new(for_this_machine());
            Ok(config.into_builder().credentials_provider(provider).build())
        }
        Err(error) => Err(error),
    }
}

/// Returns the present credentials.
///
/// # Errors
/// Returns an error if there are none.
pub async fn credentials(config: &SdkConfig, place: &Place) -> anyhow::Result<Credentials> {
    let without = match named_profile(place) {
        Some((_, name)) => format!("no credentials for AWS from the profile {name}"),
        None => {
            "no credentials for AWS: set a profile, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".to_owned()
        }
    };
    let provider = config.credentials_provider().with_context(|| without.clone())?;
    provider.provide_credentials().await.map_err(|error| anyhow!("{without} ({})", cause(&error.into())))
}

/// Returns the flag or variable that names a profile, and the name.
fn named_profile(place: &Place) -> Option<(&'static str, String)> {
    let of_environment = || std::env::var("AWS_PROFILE").ok().filter(|name| !name.is_empty());
    let given = place.profile.clone().map(|name| ("--profile", name));
    given.or_else(|| of_environment().map(|name| ("AWS_PROFILE", name)))
}

/// Returns the cause of an SDK error, without the list of everything that it tried.
fn cause(error: &anyhow::Error) -> String {
    let cause = error.root_cause().to_string();
    let first = cause.lines().next().unwrap_or_default();
    first.trim_end_matches(" Attempted:").trim_end_matches('.').to_owned()
}

/// Refuses an invalid endpoint, which the SDK would ignore and call AWS.
fn check_environment(variables: impl Iterator<Item = (String, String)>) -> anyhow::Result<()> {
    for (name, value) in variables.filter(|(name, _)| name.starts_with("AWS_ENDPOINT_URL")) {
        if !value.is_empty() && endpoint(&value).is_err() {
            bail!("{name} is {}, allowed: http://HOST:PORT or https://HOST:PORT", Quoted(&value));
        }
    }
    Ok(())
}

/// Refuses a profile that does not exist, which the SDK would treat as one without settings.
async fn check_profile(place: &Place) -> anyhow::Result<()> {
    let Some((named_by, name)) = named_profile(place) else { return Ok(()) };
    let (files, environment, which) = (Default::default(), Default::default(), Default::default());
    let read = aws_config::profile::load(&files, &environment, &which, None).await;
    let known =
        read.map_err(|error| anyhow!("could not read your AWS settings: {}", cause(&error.into())))?;
    if known.get_profile(&name).is_some() {
        return Ok(());
    }
    let mut names: Vec<&str> = known.profiles().collect();
    names.sort_unstable();
    let known = or_known(&name, &names);
    bail!("{named_by} is {}, but your AWS settings have no such profile{known}", Quoted(&name))
}

/// Returns credentials for an emulator, never those of a profile.
fn for_this_machine() -> Credentials {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let id = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"));
    let (id, secret) = id.unwrap_or_else(|| ("local".to_owned(), "local".to_owned()));
    Credentials::new(id, secret, variable("AWS_SESSION_TOKEN"), None, "redrive")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_of_the_environment_that_is_none_is_named() {
        let given = |name: &str, value: &str| {
            check_environment(std::iter::once((name.to_owned(), value.to_owned())))
                .map_err(|error| error.to_string())
        };
        assert_eq!(given("AWS_ENDPOINT_URL", "http://127.0.0.1:9324"), Ok(()));
        assert_eq!(given("AWS_PROFILE", "shop"), Ok(()));
        let error = given("AWS_ENDPOINT_URL_SQS", "127.0.0.1:9324").unwrap_err();
        assert!(error.starts_with("AWS_ENDPOINT_URL_SQS is \"127.0.0.1:9324\", allowed: "), "{error}");
    }

    #[test]
    fn why_there_are_no_credentials_is_one_line() {
        let error = anyhow!("none found in chain. Attempted:\n  Environment: none\n").context("not enabled");
        assert_eq!(cause(&error), "none found in chain");
    }
}
