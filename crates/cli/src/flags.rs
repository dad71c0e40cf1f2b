//! Flags that several verbs share.

use std::env::VarError;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use redrive_sqs::{OriginSenders, QueueArn, Quoted};

use crate::ask::{Consent, Yes};
use crate::aws::Aws;
use crate::find::Queue;
use crate::problem::{OrProblem, Problem};
use crate::shell::word;
use crate::store::StorePlace;

/// For verbs whose result programs can read.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// For verbs that only look.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MayMove {
    /// Do not ask before letters are received from a queue with its own redrive policy, where SQS moves them after some
    /// receives
    #[arg(long = "yes", id = "may_move")]
    is_given: bool,
}

impl MayMove {
    pub(crate) fn yes(self) -> Yes {
        Yes { yes: self.is_given }
    }
}

/// For verbs that delete letters without looking back.
#[derive(Debug, Clone, Args)]
pub(crate) struct Account {
    /// Id of the account that must own the queue; on AWS itself, --yes requires it
    #[arg(long = "account", id = "account", value_name = "ID", value_parser = account)]
    id: Option<String>,
}

impl Account {
    #[cfg(test)]
    pub(crate) fn given(id: Option<&str>) -> Self {
        Self { id: id.map(str::to_owned) }
    }

    /// Checks the account of the queue. If no endpoint was set, `--yes` alone is not enough: with a forgotten endpoint, the command
    /// would delete in the real account.
    ///
    /// # Errors
    /// The queue is in another account, or the account was not given.
    pub(crate) fn check(&self, aws: &Aws, queue: &Queue, consent: Consent) -> Result<(), Problem> {
        let reached = QueueArn::parse(&queue.arn).map_or("unknown", |arn| arn.account);
        let needs = aws.is_aws() && consent.sure.yes && !consent.dry.run;
        match mistaken(self.id.as_deref(), reached, needs) {
            Some(why) => {
                let (name, place) = (queue.name(), aws.place(&queue.arn));
                Err(Problem::Input(anyhow!("{name} ({place}): {why}; nothing was deleted")))
            }
            None => Ok(()),
        }
    }
}

/// Returns the error of the given account, if there is one.
fn mistaken(given: Option<&str>, reached: &str, needs: bool) -> Option<String> {
    match given {
        Some(given) if given != reached => Some(format!("--account is {given}, the queue's is {reached}")),
        None if needs => Some("on AWS, --yes needs --account with the account's id".to_owned()),
        Some(_) | None => None,
    }
}

fn account(text: &str) -> Result<String, &'static str> {
    match text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Ok(text.to_owned()),
        false => Err("expected 12 digits"),
    }
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
    /// Log group [default: the stack's, else that of the function fed by the queue or named in a note]
    #[arg(long = "log-group", id = "log_group", value_name = "NAME")]
    pub(crate) group: Option<String>,
}

impl LogGroup {
    /// Returns the flag as typed, for another command.
    pub(crate) fn typed(&self) -> String {
        self.group.iter().map(|group| format!(" --log-group {}", word(group))).collect()
    }
}

/// For verbs that send letters, or write them where they can be sent from.
#[derive(Debug, Clone, Args)]
pub(crate) struct Origins {
    /// Senders whose redrive.origin is trusted on letters that SQS moved: unique ids of IAM users and roles, separated by
    /// commas [default: REDRIVE_ORIGIN_SENDERS, else all senders]
    #[arg(long = "origin-senders", id = "origin_senders", value_name = "IDS")]
    senders: Option<String>,
}

/// For verbs that send letters back.
#[derive(Debug, Clone, Args)]
pub(crate) struct Journaling {
    /// Folder for the history and for the journal of letters being sent, or dynamodb:TABLE to share them, or off; after a
    /// kill, the next run reads the journal [default: REDRIVE_JOURNAL, else redrive in XDG_STATE_HOME]
    #[arg(long = "journal", id = "journal", value_name = "FOLDER")]
    place: Option<PathBuf>,
}

impl Journaling {
    /// # Errors
    /// The table's name is invalid.
    pub(crate) fn named(&self) -> Result<StorePlace, Problem> {
        StorePlace::read(self.place.as_deref(), |name| std::env::var_os(name)).or_input()
    }
}

const VARIABLE: &str = "REDRIVE_ORIGIN_SENDERS";

impl Origins {
    /// Returns the flag as typed, for another command.
    pub(crate) fn typed(&self) -> String {
        self.senders.iter().map(|senders| format!(" --origin-senders {}", word(senders))).collect()
    }

    /// # Errors
    /// An id is invalid, or the list is empty: a user who sets it does not trust all senders.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_needs_the_account_on_aws_and_a_wrong_one_is_refused_anywhere() {
        const OURS: &str = "123456789012";
        for (given, needs, expected) in [
            (None, false, None),
            (None, true, Some("on AWS, --yes needs --account with the account's id")),
            (Some(OURS), true, None),
            (Some(OURS), false, None),
            (Some("210987654321"), true, Some("--account is 210987654321, the queue's is 123456789012")),
            (Some("210987654321"), false, Some("--account is 210987654321, the queue's is 123456789012")),
        ] {
            assert_eq!(mistaken(given, OURS, needs).as_deref(), expected, "{given:?} {needs}");
        }
        assert!(account("12345678901").is_err() && account("12345678901a").is_err());
    }
}
