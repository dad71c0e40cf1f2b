//! Reads settings from text.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use redrive_sqs::{LONGEST_VISIBILITY, OriginSenders, QueueArn, Quoted, cut_to, in_words, is_queue_name};

use super::{InvalidSetting, ORIGIN_SENDERS, Value};
use redrive_engine::{ALLOWED, Backoff, Overrides, Rate, parse_backoff, parse_rate};

/// Reads settings that are not set.
pub(super) struct Fill<'a> {
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    /// Returns the name of a variable in errors.
    pub(super) name: &'a dyn Fn(&str) -> String,
}

impl Fill<'_> {
    pub(super) fn setting<T: Value>(
        &self,
        setting: &mut Option<T>,
        name: &str,
    ) -> Result<(), InvalidSetting> {
        if setting.is_none() {
            let value = (self.variable)(name).filter(|value| !value.is_empty() || name == ORIGIN_SENDERS);
            *setting =
                value.map(|value| T::read(&Variable { name: (self.name)(name), value })).transpose()?;
        }
        Ok(())
    }
}

/// One environment variable.
pub(crate) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
}

impl Variable {
    fn refuse(&self, allowed: impl Display) -> InvalidSetting {
        InvalidSetting::new(&self.name, Quoted(&self.value), allowed)
    }

    pub(super) fn whole<T: FromStr>(&self, allowed: &RangeInclusive<u32>) -> Result<T, InvalidSetting> {
        let is_allowed = self.value.parse().is_ok_and(|number| allowed.contains(&number));
        let number = self.value.parse().ok().filter(|_| is_allowed);
        number.ok_or_else(|| self.refuse(format_args!("a whole number from {}", in_words(allowed))))
    }

    pub(super) fn seconds(&self, most: Duration) -> Result<Duration, InvalidSetting> {
        let number = self.value.parse().ok().filter(|number| *number > 0.0 && *number <= most.as_secs_f64());
        number.map(Duration::from_secs_f64).ok_or_else(|| {
            self.refuse(format_args!("a number of seconds above 0, at most {}", most.as_secs()))
        })
    }

    /// Parses an address. It means all interfaces if it begins with the colon.
    pub(super) fn address(&self) -> Result<SocketAddr, InvalidSetting> {
        let all = self.value.strip_prefix(':').map(|port| format!("0.0.0.0:{port}"));
        let address = all.as_ref().unwrap_or(&self.value).parse();
        address.map_err(|_| self.refuse("an address and a port such as :8080 or 127.0.0.1:8080"))
    }

    pub(super) fn one_of<T: Copy>(&self, allowed: &[(&str, T)]) -> Result<T, InvalidSetting> {
        let found = allowed.iter().find(|(name, _)| *name == self.value);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = allowed.iter().map(|(name, _)| format!("{name:?}")).collect();
            self.refuse(names.join(" or "))
        })
    }

    pub(super) fn backoff(&self) -> Result<Backoff, InvalidSetting> {
        parse_backoff(&self.value, &Backoff::default()).map_err(|error| {
            let error = error.to_string();
            // The JSON is one line, so the position of the error is left out.
            let reason = error.split(" at line ").next().unwrap_or(&error);
            self.refuse(format_args!(
                "JSON such as {{\"kind\":\"exponential\",\"delay\":5,\"max\":900}} ({})",
                cut_to(reason, 256)
            ))
        })
    }

    pub(super) fn overrides(&self) -> Result<Overrides, InvalidSetting> {
        match self.value.as_str() {
            "off" => Ok(Overrides::Off),
            "less" => Ok(Overrides::Less),
            _ => self.seconds(LONGEST_VISIBILITY).map(Overrides::UpTo).map_err(|_| {
                let most = LONGEST_VISIBILITY.as_secs();
                self.refuse(format_args!(
                    "\"off\", \"less\", or the longest delay in seconds, above 0 and at most {most}"
                ))
            }),
        }
    }

    pub(super) fn rate(&self) -> Result<Rate, InvalidSetting> {
        parse_rate(&self.value).ok_or_else(|| {
            self.refuse(format_args!(
                "a rate such as 50/s, 3000/min or 10/h, of {} messages",
                in_words(&ALLOWED)
            ))
        })
    }

    pub(super) fn senders(&self) -> Result<OriginSenders, InvalidSetting> {
        OriginSenders::parse(&self.value)
            .map_err(|fault| self.refuse(format!("{UNIQUE_ID}, several with commas ({})", Quoted(&fault))))
    }
}

pub(super) const UNIQUE_ID: &str = "the unique id of an IAM user or role such as AIDAEXAMPLEUSER, or AROAEXAMPLEROLE:session for one session of a role";

pub(super) fn is_queue_arn(text: &str) -> bool {
    let is_word = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    QueueArn::parse(text)
        .is_some_and(|arn| is_queue_name(arn.name) && is_word(arn.region) && is_word(arn.account))
}
