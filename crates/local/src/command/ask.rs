//! Asks before the command does something that cannot be undone.

use std::io::{self, IsTerminal};

use anyhow::{Context, anyhow};
use clap::Args;

use crate::command::output;
use crate::command::problem::{OrProblem, Problem};

/// Whether anything is to be done at all.
#[derive(Debug, Clone, Copy, Args)]
pub struct DryRun {
    /// Show what would be done without doing it
    #[arg(long = "dry-run", id = "dry_run")]
    pub run: bool,
}

/// Whether the answer is known beforehand.
#[derive(Debug, Clone, Copy, Args)]
pub struct Yes {
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// For verbs that ask before they act.
#[derive(Debug, Clone, Copy, Args)]
pub struct Consent {
    #[command(flatten)]
    pub dry: DryRun,

    #[command(flatten)]
    pub sure: Yes,
}

impl Consent {
    /// Asks `{question}? {consequence} [y/N]`, except for a dry run or with `--yes`. The question is an imperative that
    /// begins with a small letter. Without a terminal `--yes` is required.
    ///
    /// # Errors
    /// Returns `not confirmed: {spared}` after any answer but yes.
    pub fn confirm(self, question: &str, consequence: &str, spared: &str) -> Result<(), Problem> {
        match self.is_needed() {
            true => confirm(question, consequence, spared),
            false => Ok(()),
        }
    }

    /// Asks the same after a line that names the place, which would be easy to miss at the end of a long question.
    ///
    /// # Errors
    /// Returns an error after any answer but yes.
    pub fn confirm_in(
        self,
        place: &str,
        question: &str,
        consequence: &str,
        spared: &str,
    ) -> Result<(), Problem> {
        if self.asks() {
            output::tell(format!("redrive: in {place}"));
        }
        self.confirm(question, consequence, spared)
    }

    /// Asks the user to type a name, for actions that a slip of the finger must not start.
    ///
    /// # Errors
    /// Returns an error for any text but the name.
    pub fn confirm_by_name(
        self,
        question: &str,
        consequence: &str,
        name: &str,
        spared: &str,
    ) -> Result<(), Problem> {
        let prompt = format!("{}? {consequence} Type {name} to confirm: ", capitalized(question));
        match !self.is_needed() || answer(question, &prompt)? == name {
            true => Ok(()),
            false => Err(not_confirmed(spared)),
        }
    }

    /// Returns true if the command will ask somebody.
    pub fn asks(self) -> bool {
        self.is_needed() && io::stdin().is_terminal()
    }

    fn is_needed(self) -> bool {
        !self.dry.run && !self.sure.yes
    }
}

/// Asks the same question in any case.
///
/// # Errors
/// Returns an error after any answer but yes.
pub fn confirm(question: &str, consequence: &str, spared: &str) -> Result<(), Problem> {
    let answer = answer(question, &format!("{}? {consequence} [y/N] ", capitalized(question)))?;
    match answer.as_str() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(not_confirmed(spared)),
    }
}

fn not_confirmed(spared: &str) -> Problem {
    Problem::Failed(anyhow!("not confirmed: {spared}"))
}

fn capitalized(question: &str) -> String {
    let mut rest = question.chars();
    rest.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(rest).collect()
}

fn answer(question: &str, prompt: &str) -> Result<String, Problem> {
    if !io::stdin().is_terminal() {
        return Err(Problem::Input(anyhow!("not a terminal, cannot confirm: pass --yes to {question}")));
    }
    // If nobody can read the question, nobody will answer yes.
    let _ = output::ask(prompt);
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("could not read the answer").or_failed()?;
    Ok(answer.trim().to_owned())
}
