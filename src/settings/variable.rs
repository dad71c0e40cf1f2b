//! Reads settings from text.

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use redrive_sqs::{OriginSenders, QueueArn, Quoted, cut_to, is_queue_name};

use super::{InvalidSetting, Overrides};
use crate::Backoff;
use crate::overrides::parse_backoff;

/// Reads settings that are not set.
pub(super) struct Fill<'a> {
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    /// What errors call a variable.
    pub(super) name: &'a dyn Fn(&str) -> String,
}

impl Fill<'_> {
    pub(super) fn setting<T>(
        &self,
        setting: &mut Option<T>,
        name: &'static str,
        parse: impl FnOnce(&Variable) -> Result<T, InvalidSetting>,
    ) -> Result<(), InvalidSetting> {
        let variable = |name: &str| (self.variable)(name).filter(|value| !value.is_empty());
        Fill { variable: &variable, ..*self }.guard(setting, name, parse)
    }

    /// One that guards something, so that an empty variable does not mean that nothing is guarded.
    pub(super) fn guard<T>(
        &self,
        setting: &mut Option<T>,
        name: &'static str,
        parse: impl FnOnce(&Variable) -> Result<T, InvalidSetting>,
    ) -> Result<(), InvalidSetting> {
        if setting.is_none() {
            let value = (self.variable)(name);
            *setting = value.map(|value| parse(&Variable { name: (self.name)(name), value })).transpose()?;
        }
        Ok(())
    }
}

/// One environment variable.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
}

impl Variable {
    fn refuse(&self, allowed: &str) -> InvalidSetting {
        InvalidSetting::new(&self.name, &Quoted(&self.value).to_string(), allowed)
    }

    pub(super) fn whole<T: FromStr>(&self, least: u64, most: u64) -> Result<T, InvalidSetting> {
        let is_allowed = self.value.parse().is_ok_and(|number: u64| (least..=most).contains(&number));
        let number = self.value.parse().ok().filter(|_| is_allowed);
        number.ok_or_else(|| self.refuse(&format!("a whole number from {least} to {most}")))
    }

    pub(super) fn seconds(&self, most: f64) -> Result<Duration, InvalidSetting> {
        let number = self.value.parse().ok().filter(|number| *number > 0.0 && *number <= most);
        number
            .map(Duration::from_secs_f64)
            .ok_or_else(|| self.refuse(&format!("a number of seconds above 0, at most {most}")))
    }

    /// All interfaces if it begins with the colon.
    pub(super) fn address(&self) -> Result<SocketAddr, InvalidSetting> {
        let all = self.value.strip_prefix(':').map(|port| format!("0.0.0.0:{port}"));
        let address = all.as_ref().unwrap_or(&self.value).parse();
        address.map_err(|_| self.refuse("an address and a port such as :8080 or 127.0.0.1:8080"))
    }

    pub(super) fn one_of<T: Copy>(&self, allowed: &[(&str, T)]) -> Result<T, InvalidSetting> {
        let found = allowed.iter().find(|(name, _)| *name == self.value);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = allowed.iter().map(|(name, _)| format!("{name:?}")).collect();
            self.refuse(&names.join(" or "))
        })
    }

    pub(super) fn url(&self) -> Result<String, InvalidSetting> {
        if is_queue_url(&self.value) { Ok(self.value.clone()) } else { Err(self.refuse(QUEUE_URL)) }
    }

    pub(super) fn backoff(&self) -> Result<Backoff, InvalidSetting> {
        parse_backoff(&self.value, &Backoff::default()).map_err(|error| {
            let error = error.to_string();
            // Where in its one line the JSON is wrong helps nobody.
            let reason = error.split(" at line ").next().unwrap_or(&error);
            self.refuse(&format!(
                "JSON such as {{\"kind\":\"exponential\",\"delay\":5,\"max\":900}} ({})",
                cut_to(reason, 256)
            ))
        })
    }

    pub(super) fn overrides(&self) -> Result<Overrides, InvalidSetting> {
        let up_to = || self.seconds(43_200.0).map(Overrides::UpTo);
        match self.value.as_str() {
            "off" => Ok(Overrides::Off),
            "less" => Ok(Overrides::Less),
            _ => up_to().map_err(|_| {
                self.refuse("\"off\", \"less\", or the longest delay in seconds, above 0 and at most 43200")
            }),
        }
    }

    pub(super) fn senders(&self) -> Result<OriginSenders, InvalidSetting> {
        OriginSenders::parse(&self.value)
            .map_err(|fault| self.refuse(&format!("{UNIQUE_ID}, several with commas ({})", Quoted(&fault))))
    }

    pub(super) fn namespace(&self) -> Result<String, InvalidSetting> {
        if is_namespace(&self.value) { Ok(self.value.clone()) } else { Err(self.refuse(NAMESPACE)) }
    }
}

pub(super) const UNIQUE_ID: &str = "the unique id of an IAM user or role such as AIDAEXAMPLEUSER, or AROAEXAMPLEROLE:session for one session of a role";

pub(super) const QUEUE_URL: &str =
    "a queue URL such as https://sqs.eu-central-1.amazonaws.com/123456789012/orders-dead";

pub(super) fn is_queue_url(text: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| rest.split('/').filter(|part| !part.is_empty()).count() >= 2)
}

pub(super) fn is_queue_arn(text: &str) -> bool {
    let is_word = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    QueueArn::parse(text)
        .is_some_and(|arn| is_queue_name(arn.name) && is_word(arn.region) && is_word(arn.account))
}

pub(super) const NAMESPACE: &str = "1 to 255 of A-Z a-z 0-9 . _ - / # : and space, not beginning with AWS/";

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html>
pub(super) fn is_namespace(text: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-/#: ".contains(c);
    (1..=255).contains(&text.len()) && !text.starts_with("AWS/") && text.chars().all(legal)
}
