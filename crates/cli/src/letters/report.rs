//! Formats the result for a letter, for programs and for people. Pure.

use serde_json::{Value, json};

use super::letter::Letter;
use super::letter_run::Operation;
use super::tracker::LeftReason;

/// Number of letters that are reported one by one. The rest are only counted.
const PRINTED: u64 = 20;

/// Result for a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report<'a> {
    /// A dry run would send or delete it.
    Chosen,
    /// It was sent under this message id, and then deleted.
    Sent(Option<&'a str>),
    Deleted,
    /// It was deleted, or would be, because another letter of its message was sent.
    Duplicate,
    Left(LeftReason),
    /// It stays although its id was requested.
    NamedButLeft(LeftReason),
    /// It was not sent or deleted.
    Failed(&'a str),
    /// It stays, and nobody knows whether it was sent.
    PerhapsSent(&'a str),
    /// It was sent, by this run or before, and is still there.
    NotDeleted {
        sent_as: Option<&'a str>,
        by_this_run: bool,
        reason: &'a str,
    },
    /// It was sent and deleted, after its visibility timeout ended.
    PerhapsTaken(Option<&'a str>),
    /// It was sent and deleted, and an earlier run sent it or may have, as `before` describes.
    SentAgain {
        sent_as: Option<&'a str>,
        before: &'a str,
    },
    /// It was deleted, or would be: an earlier run has sent it under this id.
    AlreadySent(Option<&'a str>),
    /// A dry run would send it, and an earlier run has, or may have.
    SentBefore(&'a str),
    /// There was, or is, no room for `redrive.origin`; the run reports it again after sending.
    WithoutOrigin,
}

/// Formats ` as ID` if SQS returned the id.
pub(super) fn as_id(sent_as: Option<&str>) -> String {
    sent_as.map(|id| format!(" as {id}")).unwrap_or_default()
}

const TAKEN: &str = "its visibility timeout ended before it was deleted";

impl Report<'_> {
    /// Returns true if the letter was sent, may have been, or would be.
    pub(super) fn is_sent(self, operation: Operation) -> bool {
        match self {
            Self::Chosen | Self::PerhapsTaken(_) => operation != Operation::Delete,
            Self::NotDeleted { sent_as, .. } => sent_as.is_some(),
            Self::Sent(_) | Self::SentAgain { .. } | Self::PerhapsSent(_) => true,
            Self::Deleted
            | Self::Duplicate
            | Self::AlreadySent(_)
            | Self::Left(_)
            | Self::NamedButLeft(_)
            | Self::SentBefore(_)
            | Self::Failed(_)
            | Self::WithoutOrigin => false,
        }
    }

    /// Returns the result and its fields for programs.
    pub(super) fn json(
        &self,
        letter: &Letter,
        operation: Operation,
        dry_run: bool,
    ) -> Option<(&'static str, Value)> {
        Some(match *self {
            Self::Chosen => {
                let would = if operation == Operation::Delete { "would-delete" } else { "would-send" };
                (would, json!({ "group_id": letter.group(), "reason": letter.reason() }))
            }
            Self::Sent(sent_as) => ("sent", json!({ "sent_as": sent_as })),
            Self::Deleted => ("deleted", json!({})),
            Self::Duplicate if dry_run => ("would-delete-duplicate", json!({})),
            Self::Duplicate => ("duplicate-deleted", json!({})),
            Self::AlreadySent(sent_as) => {
                let what = if dry_run { "would-delete-already-sent" } else { "already-sent-deleted" };
                (what, json!({ "sent_as": sent_as }))
            }
            Self::Left(LeftReason::NotWanted)
            | Self::NamedButLeft(_)
            | Self::SentBefore(_)
            | Self::WithoutOrigin => return None,
            Self::Left(why) => ("left", json!({ "error": why.to_string() })),
            Self::Failed(reason) => ("failed", json!({ "error": reason })),
            Self::PerhapsSent(reason) => ("perhaps-sent", json!({ "error": reason })),
            Self::NotDeleted { sent_as, reason, .. } => {
                ("possible-duplicate", json!({ "sent_as": sent_as, "error": reason }))
            }
            Self::PerhapsTaken(sent_as) => {
                ("possible-duplicate", json!({ "sent_as": sent_as, "error": TAKEN }))
            }
            Self::SentAgain { sent_as, before } => {
                ("possible-duplicate", json!({ "sent_as": sent_as, "error": before }))
            }
        })
    }

    /// Describes the result for people.
    pub(super) fn words(&self, id: &str, dry_run: bool) -> Option<String> {
        let sent =
            |sent_as: Option<&str>| format!("possible duplicate: letter {id} was sent{}", as_id(sent_as));
        Some(match self {
            Self::Chosen | Self::Sent(_) | Self::Deleted | Self::Left(_) => return None,
            Self::Duplicate if dry_run => {
                format!("letter {id} is a duplicate, and would be deleted")
            }
            Self::Duplicate => format!("letter {id} was a duplicate of the same message and was deleted"),
            Self::AlreadySent(sent_as) => {
                let deleted = if dry_run { "would only be deleted" } else { "was only deleted" };
                format!("letter {id} was sent{} by an earlier run and {deleted}", as_id(*sent_as))
            }
            Self::NamedButLeft(why) => format!("letter {id} stays: {why}"),
            Self::Failed(reason) => format!("letter {id} stays: {reason}"),
            Self::PerhapsSent(reason) => {
                format!("letter {id} stays: {reason}; it may have been sent anyway")
            }
            Self::NotDeleted { sent_as, reason, .. } => {
                format!("{} but not deleted: {reason}", sent(*sent_as))
            }
            Self::PerhapsTaken(sent_as) => format!("{}, but {TAKEN}", sent(*sent_as)),
            Self::SentAgain { before, .. } | Self::SentBefore(before) => {
                format!("possible duplicate: {before}")
            }
            Self::WithoutOrigin if dry_run => {
                format!("letter {id} has no room for redrive.origin and would be sent without it")
            }
            Self::WithoutOrigin => {
                format!("letter {id} has no room for redrive.origin and is sent without it")
            }
        })
    }

    /// Returns true if it is printed for people, as the `count`th of its kind. Those that need a decision are always printed.
    pub(super) fn is_printed(&self, count: u64, json: bool) -> bool {
        match self {
            Self::Duplicate | Self::AlreadySent(_) | Self::Failed(_) => !json && count <= PRINTED,
            Self::WithoutOrigin => count <= PRINTED,
            _ => true,
        }
    }
}
