//! Which findings are told, and how.

use clap::{Args, ValueEnum};

use super::checks::ALL;

/// Which codes count.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Chosen {
    /// Code of findings to report, and no others (may be repeated)
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code, conflicts_with = "except")]
    only: Vec<&'static str>,

    /// Code of findings to leave out (may be repeated)
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code)]
    except: Vec<&'static str>,
}

impl Chosen {
    pub(super) fn has(&self, code: &str) -> bool {
        (self.only.is_empty() || self.only.contains(&code)) && !self.except.contains(&code)
    }
}

pub(super) fn code(text: &str) -> Result<&'static str, String> {
    let found = ALL.iter().find(|check| check.code == text);
    found.map(|check| check.code).ok_or_else(|| "no such code: see redrive doctor --list".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// For people
    #[default]
    Text,
    /// An object for each template, stack, function or group of queues, one per line
    Json,
    /// SARIF 2.1.0, which code scanning takes
    Sarif,
    /// Workflow commands, which GitHub shows beside the lines of a pull request
    Github,
}
