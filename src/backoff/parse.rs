//! A backoff as JSON, in `REDRIVE_BACKOFF` and in the attribute of a message.

use std::time::Duration;

use serde::Deserialize;

use super::{Backoff, InvalidBackoff, Jitter, Schedule};
use crate::BoxError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Spec {
    kind: Option<Kind>,
    delay: Option<Delays>,
    multiplier: Option<f64>,
    max: Option<f64>,
    jitter: Option<JitterSpec>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Exponential,
    Fixed,
    Steps,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Delays {
    One(f64),
    Many(Vec<f64>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JitterSpec {
    Named(Named),
    Seconds(f64),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Named {
    None,
    Full,
    Equal,
}

/// Missing fields are taken from `base`.
pub(crate) fn parse_backoff(json: &str, base: &Backoff) -> Result<Backoff, BoxError> {
    let spec: Spec = serde_json::from_str(json)?;
    let jitter = match spec.jitter {
        None => base.jitter,
        Some(JitterSpec::Named(Named::None)) => Jitter::None,
        Some(JitterSpec::Named(Named::Full)) => Jitter::Full,
        Some(JitterSpec::Named(Named::Equal)) => Jitter::Equal,
        Some(JitterSpec::Seconds(by)) => Jitter::Symmetric(seconds(by)?),
    };
    // Steps have no factor; another kind of schedule starts with the usual one.
    let (own, is_exponential, factor, maximum) = match &base.schedule {
        Schedule::Exponential { initial, multiplier, maximum } => {
            (vec![*initial], true, *multiplier, *maximum)
        }
        Schedule::Steps(steps) => (steps.clone(), false, 2.0, None),
    };
    let delays = match spec.delay {
        None => own,
        Some(Delays::One(delay)) => vec![seconds(delay)?],
        Some(Delays::Many(delays)) => delays.into_iter().map(seconds).collect::<Result<_, _>>()?,
    };
    let exponential = spec.kind.as_ref().map_or(is_exponential, |kind| *kind == Kind::Exponential);
    let backoff = match *delays.as_slice() {
        [initial] if exponential => {
            let maximum = spec.max.map(seconds).transpose()?.or(maximum);
            let backoff = Backoff::growing(initial, maximum)?;
            backoff.multiplier(spec.multiplier.unwrap_or(factor))?
        }
        _ if exponential => return Err("a list of delays requires the kind `steps`".into()),
        _ => Backoff::steps(delays)?,
    };
    Ok(backoff.jitter(jitter))
}

fn seconds(number: f64) -> Result<Duration, InvalidBackoff> {
    Duration::try_from_secs_f64(number)
        .map_err(|_| InvalidBackoff(format!("{number} is not a number of seconds")))
}
