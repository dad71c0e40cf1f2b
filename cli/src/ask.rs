//! Questions before something is done that cannot be undone.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, anyhow};

use crate::problem::{OrProblem, Problem};

/// Asks `Really {question}? {consequence} [y/N]`. Without a terminal there is nobody to ask, and `--yes` is needed.
///
/// # Errors
/// Any answer but yes: `not confirmed, {spared}`.
pub(crate) fn confirm(question: &str, consequence: &str, spared: &str) -> Result<(), Problem> {
    let answer = answer(question, &format!("Really {question}? {consequence} [y/N] "))?;
    match answer.as_str() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Problem::Failed(anyhow!("not confirmed, {spared}"))),
    }
}

/// Asks for a name to be typed, for what is worse than a slip of the finger.
///
/// # Errors
/// Anything but the name.
pub(crate) fn confirm_by_name(
    question: &str,
    consequence: &str,
    name: &str,
    spared: &str,
) -> Result<(), Problem> {
    let answer =
        answer(question, &format!("Really {question}? {consequence} Type the name {name} to go on: "))?;
    if answer == name {
        return Ok(());
    }
    Err(Problem::Failed(anyhow!("not confirmed, {spared}")))
}

fn answer(question: &str, prompt: &str) -> Result<String, Problem> {
    if !io::stdin().is_terminal() {
        return Err(Problem::Input(anyhow!("nobody to ask whether to {question}: give --yes")));
    }
    // If nobody can read the question, no answer will be yes.
    let _ = write!(io::stderr(), "{prompt}");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("could not read the answer").or_failed()?;
    Ok(answer.trim().to_owned())
}
