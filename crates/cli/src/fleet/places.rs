//! The flags that select several profiles and regions.

use anyhow::Context;
use clap::Args;
use futures_util::future::join_all;

use crate::aws::{Aws, Place};
use crate::problem::{OrProblem, Problem};

/// What was typed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "AWS")]
pub(crate) struct Places {
    /// Region (may be repeated) [default: the one of each profile]
    #[arg(long = "region", value_name = "REGION")]
    pub(crate) regions: Vec<String>,

    /// Profile of your AWS settings (may be repeated); each is combined with each region
    #[arg(long = "profile", value_name = "NAME")]
    pub(crate) profiles: Vec<String>,

    /// Endpoint to call instead of AWS, such as that of `redrive local` [default: AWS_ENDPOINT_URL, else endpoint_url of the
    /// profile, else AWS]
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint_url: Option<String>,

    /// Seconds that a call may take before the command gives up, 2 to 3600 [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(2..=3_600))]
    pub(crate) timeout: Option<u64>,
}

/// A connection with a profile in a region.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) profile: Option<String>,
    /// Region and profile, such as `eu-west-1, profile shop`.
    pub(crate) name: String,
    pub(crate) aws: anyhow::Result<Aws>,
}

impl Places {
    /// Connects to each place. Keeps one that fails with its error, unless all fail.
    ///
    /// # Errors
    /// No place has a region and credentials.
    pub(crate) async fn connect(&self) -> Result<Vec<Reached>, Problem> {
        let reached = join_all(self.each().into_iter().map(|place| async move {
            let aws = Aws::connect(&place).await;
            let name = aws.as_ref().map_or_else(|_| typed(&place), Aws::here);
            Reached { profile: place.profile, name, aws }
        }));
        let mut reached = reached.await;
        if reached.iter().all(|reached| reached.aws.is_err()) {
            return reached.swap_remove(0).aws.map(|_| vec![]).or_input();
        }
        Ok(reached)
    }

    fn each(&self) -> Vec<Place> {
        let or_default = |given: &[String]| match given {
            [] => vec![None],
            given => given.iter().cloned().map(Some).collect(),
        };
        let (profiles, regions) = (or_default(&self.profiles), or_default(&self.regions));
        let place = |profile: &Option<String>, region: &Option<String>| Place {
            profile: profile.clone(),
            region: region.clone(),
            endpoint_url: self.endpoint_url.clone(),
            timeout: self.timeout,
            otherwise: None,
        };
        profiles.iter().flat_map(|profile| regions.iter().map(move |region| place(profile, region))).collect()
    }
}

/// Returns the first working connection, which is the account and region of a table without an ARN.
///
/// # Errors
/// No connection works.
pub(crate) fn first(reached: &[Reached]) -> Result<Aws, Problem> {
    let first = reached.iter().find_map(|reached| reached.aws.as_ref().ok());
    first.cloned().context("no profile has a region and credentials").or_input()
}

fn typed(place: &Place) -> String {
    let profile = place.profile.as_ref().map(|name| format!("profile {name}"));
    place.region.clone().into_iter().chain(profile).collect::<Vec<_>>().join(", ")
}
