//! Options that select findings and their format.

use clap::{Args, ValueEnum};

use super::checks::ALL;
use crate::nearest::did_you_mean;

/// Which codes count.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Chosen {
    /// Report only findings with this code (may be repeated)
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code, conflicts_with = "except")]
    only: Vec<&'static str>,

    /// Leave out findings with this code (may be repeated)
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code)]
    except: Vec<&'static str>,
}

impl Chosen {
    pub(super) fn has(&self, code: &str) -> bool {
        (self.only.is_empty() || self.only.contains(&code)) && !self.except.contains(&code)
    }
}

pub(super) fn code(text: &str) -> Result<&'static str, String> {
    let mut codes = ALL.iter().map(|check| check.code);
    codes.clone().find(|code| *code == text).ok_or_else(|| match did_you_mean(text, &mut codes).as_str() {
        "" => "no such code: see redrive doctor --list".to_owned(),
        meant => format!("no such code{meant}"),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// For people
    #[default]
    Text,
    /// An object for each template, stack, function or group of queues, one per line
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands, for annotations on a GitHub pull request
    Github,
}
