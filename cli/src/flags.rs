//! Flags that several verbs share.

use std::env::VarError;

use anyhow::anyhow;
use clap::Args;
use redrive_sqs::{OriginSenders, Quoted};

use crate::problem::Problem;

/// For verbs whose result programs can read.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// For verbs that send letters.
#[derive(Debug, Clone, Args)]
pub(crate) struct To {
    /// Another queue to send letters to, by name, URL or ARN
    #[arg(long = "to", id = "to", value_name = "QUEUE")]
    pub(crate) queue: Option<String>,
}

/// For verbs that read the function's log.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogGroup {
    /// Log group, if neither the stack nor the function names it
    #[arg(long = "log-group", id = "log_group", value_name = "NAME")]
    pub(crate) group: Option<String>,
}

/// For verbs that send letters, or write them where they can be sent from.
#[derive(Debug, Clone, Args)]
pub(crate) struct Origins {
    /// Whose redrive.origin counts on letters that SQS moved, as the function's variable of the same name says: unique ids
    /// of IAM users and roles, separated by commas [default: REDRIVE_ORIGIN_SENDERS, else everybody's]
    #[arg(long = "origin-senders", id = "origin_senders", value_name = "IDS")]
    senders: Option<String>,
}

const VARIABLE: &str = "REDRIVE_ORIGIN_SENDERS";

impl Origins {
    /// # Errors
    /// An id that no sender can have. An empty list is refused too: whoever sets it does not mean everybody.
    pub(crate) fn senders(&self) -> Result<Option<OriginSenders>, Problem> {
        let (name, list) = match (&self.senders, std::env::var(VARIABLE)) {
            (Some(list), _) => ("--origin-senders", Ok(list.clone())),
            (None, Ok(list)) => (VARIABLE, Ok(list)),
            (None, Err(VarError::NotPresent)) => return Ok(None),
            (None, Err(VarError::NotUnicode(list))) => (VARIABLE, Err(list.to_string_lossy().into_owned())),
        };
        list.and_then(|list| OriginSenders::parse(&list)).map(Some).map_err(|fault| {
            let fault = Quoted(&fault);
            Problem::Input(anyhow!(
                "{name}: {fault}, allowed: unique ids such as AROAEXAMPLEROLE, separated by commas"
            ))
        })
    }
}
