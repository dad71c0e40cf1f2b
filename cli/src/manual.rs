//! `redrive man`: manual pages from the same words as `--help`.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::problem::{OrProblem, Problem};
use crate::{arguments, output};

/// Prints the manual page, or writes one for each verb into a folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive man | man -l -
  redrive man ~/.local/share/man/man1 && man redrive-queue-status")]
pub(crate) struct Arguments {
    /// Folder for the pages, created if it does not exist
    folder: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let mut command = arguments::Arguments::command();
    match &arguments.folder {
        Some(folder) => std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .with_context(|| format!("could not write the manual pages into {}", folder.display()))
            .or_failed(),
        None => {
            // Which fills in what verbs have in common; for a folder it would add a page for each `redrive help VERB`.
            command.build();
            let mut text = Vec::new();
            Man::new(command).render(&mut text).or_failed()?;
            output::print_own(&String::from_utf8(text).or_failed()?).or_failed()
        }
    }
}
