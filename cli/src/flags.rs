//! Flags that several verbs share.

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

/// For verbs that send letters back.
#[derive(Debug, Clone, Args)]
pub(crate) struct Origins {
    /// Whose redrive.origin counts on letters that SQS moved, as the function's variable of the same name says: unique ids
    /// of IAM users and roles, separated by commas [default: REDRIVE_ORIGIN_SENDERS, else everybody's]
    #[arg(long = "origin-senders", id = "origin_senders", value_name = "IDS")]
    senders: Option<String>,
}

impl Origins {
    /// # Errors
    /// An id that no sender can have.
    pub(crate) fn senders(&self) -> Result<Option<OriginSenders>, Problem> {
        let variable = || std::env::var("REDRIVE_ORIGIN_SENDERS").ok().filter(|list| !list.is_empty());
        let Some(list) = self.senders.clone().or_else(variable) else { return Ok(None) };
        OriginSenders::parse(&list).map(Some).map_err(|fault| {
            let fault = Quoted(&fault);
            Problem::Input(anyhow!(
                "--origin-senders: {fault}, allowed: unique ids such as AROAEXAMPLEROLE, separated by commas"
            ))
        })
    }
}
