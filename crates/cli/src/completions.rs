//! `redrive completions`: prints scripts that complete verbs and flags in a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::problem::{OrProblem, Problem};
use crate::{arguments, output};

/// Prints a shell completion script.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive completions bash > ~/.local/share/bash-completion/completions/redrive
  redrive completions zsh > ~/.zfunc/_redrive
  redrive completions fish > ~/.config/fish/completions/redrive.fish

Verbs, flags and files are completed. Queue names are not, because each Tab would call AWS.")]
pub(crate) struct Arguments {
    /// Which shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let mut command = arguments::Arguments::command();
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "redrive", &mut text);
    output::print_own(&String::from_utf8(text).or_failed()?).or_failed()
}
