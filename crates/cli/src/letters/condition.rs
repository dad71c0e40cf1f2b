//! `--where 'FIELD OPERATOR VALUE'`: conditions that select letters. Pure.

mod claim;
mod field;
mod path;
#[cfg(any(test, fuzzing))]
pub(crate) mod properties;
mod filter;
#[cfg(test)]
mod tests;

use std::str::FromStr;
use std::time::SystemTime;

use anyhow::{Context, bail};
use clap::Args;
use redrive_sqs::{Quoted, cut_to};

use self::claim::Claim;
use self::field::Field;
pub(crate) use self::filter::{ConditionFilter, Verdict, without_note};
use super::letter::Letter;
use crate::problem::{OrProblem, Problem};

/// What was typed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Where {
    /// Only letters that match this condition (may be repeated; all must match). FIELD is body.PATH, body, attribute.NAME,
    /// reason, error, exception, function, source, id, group, attempts, age or sent
    #[arg(long = "where", value_name = "'FIELD OPERATOR VALUE'")]
    conditions: Vec<String>,
}

/// Text about conditions in `--help`, for the verbs that have them.
pub(crate) const HELP: &str = "\
Conditions: --where 'FIELD OPERATOR VALUE'
  body.customer.id, body.lines[0].sku, body.\"odd key\"   a value of a JSON body
  body, attribute.NAME                                  the body as a string, a message attribute
  reason, source                                        from redrive's note, else from SQS
  error, exception, function   from redrive's note; unknown for letters without one, unless list --logs found it
  id (whole, or id ~ ^98521bf3), group, attempts, age (2h, 3d), sent (2026-11-21T07:50:00Z)
  =  !=  <  <=  >  >=   compare numbers as numbers, anything else as strings; a VALUE in double quotes is a string
  ~  !~                 a regular expression
  exists  missing       without a VALUE
All conditions must match. To match either of two values: reason ~ ^(panic|malformed)$
If a letter does not have the field, only missing, != and !~ match; if the field is unknown, nothing matches.";

/// Conditions that must all hold. Without any, each letter matches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions(Vec<Condition>);

/// A field and a claim about it.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    /// The condition as typed.
    text: String,
    field: Field,
    claim: Claim,
}

impl Where {
    /// # Errors
    /// A condition is invalid: the error names the first one.
    pub(crate) fn parse(&self) -> Result<Conditions, Problem> {
        let parse = |text: &String| text.parse().with_context(|| format!("--where {}", Quoted(text)));
        self.conditions.iter().map(parse).collect::<anyhow::Result<_>>().map(Conditions).or_input()
    }
}

impl Conditions {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns each condition as typed.
    pub(crate) fn typed(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|condition| condition.text.as_str())
    }

    /// Returns true if a condition needs the function's log for letters without a note.
    pub(crate) fn need_log(&self) -> bool {
        self.0.iter().any(|condition| condition.field.is_of_note())
    }

    /// Describes the conditions for people: `reason = panic and age > 2h`.
    pub(crate) fn words(&self) -> String {
        self.0.iter().map(Condition::words).collect::<Vec<_>>().join(" and ")
    }
}

impl Condition {
    /// Judges a letter. If it lacks the field, only `missing`, `!=` and `!~` hold.
    fn judge(&self, letter: &Letter, now: SystemTime) -> Verdict {
        if self.field.is_unknown(letter) {
            return Verdict::Unknown;
        }
        match self.claim.holds(self.field.find(letter, now).as_ref()) {
            true => Verdict::Holds,
            false => Verdict::Fails,
        }
    }

    fn field_name(&self) -> &str {
        self.text.split_at(end_of_field(&self.text)).0
    }

    fn words(&self) -> String {
        let text = cut_to(&self.text, 100);
        match self.field.is_of_sender() && self.claim.is_negative() {
            true => format!("{text} (or no {})", self.field_name()),
            false => text.into_owned(),
        }
    }
}

impl FromStr for Condition {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.is_empty() {
            bail!("a condition is FIELD OPERATOR VALUE, such as 'attempts >= 3'");
        }
        let (name, rest) = text.split_at(end_of_field(text));
        let field: Field = name.parse()?;
        let claim = Claim::parse(rest.trim(), name, field.kind())?;
        Ok(Self { text: text.to_owned(), field, claim })
    }
}

/// Returns true for the characters of operators.
fn is_sign(c: char) -> bool {
    matches!(c, '=' | '!' | '<' | '>' | '~')
}

fn end_of_field(text: &str) -> usize {
    let mut quoted = false;
    let end = text.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        !quoted && (c.is_whitespace() || is_sign(*c))
    });
    end.map_or(text.len(), |(at, _)| at)
}
