//! `redrive man`: prints manual pages from the texts of `--help`.

mod footer;
mod surroundings;

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use tempfile::Builder;

use self::footer::Footer;
use crate::letters::condition::HELP as CONDITIONS;
use crate::problem::{OrProblem, Problem};
use crate::{arguments, dlq, output};

/// Prints a manual page, or writes all of them into a folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive man | man -l -
  redrive man --page dlq-retry | man -l -
  redrive man ~/.local/share/man/man1 && man redrive-queue-status")]
pub(crate) struct Arguments {
    /// Folder for the pages, created if it does not exist
    folder: Option<PathBuf>,

    /// Command whose page to print, such as dlq-retry
    #[arg(long, value_name = "COMMAND", conflicts_with = "folder")]
    page: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let pages = pages();
    if let Some(folder) = &arguments.folder {
        let doing = || format!("could not write the manual pages into {}", folder.display());
        return write(&pages, folder).with_context(doing).or_failed();
    }
    let wanted = match &arguments.page {
        Some(page) => format!("redrive-{page}"),
        None => "redrive".to_owned(),
    };
    let page = pages.iter().find(|page| page.name == wanted).ok_or_else(|| {
        let known = pages.iter().filter_map(|page| page.name.strip_prefix("redrive-"));
        let known = known.collect::<Vec<_>>().join(", ");
        Problem::Input(anyhow!(
            "--page is {:?}, allowed: {known}",
            arguments.page.as_deref().unwrap_or_default()
        ))
    })?;
    output::print_own(&page.text().or_failed()?).or_failed()
}

fn write(pages: &[Page], folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for page in pages {
        // The file gets its name once it is complete. It replaces a link of that name, and not the link's target.
        let mut file = Builder::new().permissions(Permissions::from_mode(0o644)).tempfile_in(folder)?;
        file.write_all(page.text()?.as_bytes())?;
        file.persist(folder.join(format!("{}.1", page.name)))?;
    }
    Ok(())
}

/// The page of one command.
#[derive(Debug)]
struct Page {
    /// Name such as `redrive-dlq-retry`.
    name: String,
    command: Command,
    /// Names of the pages above, below and beside it.
    related: Vec<String>,
}

/// Returns the pages of the command and all its verbs.
fn pages() -> Vec<Page> {
    // There is no page for `redrive help VERB`, so none may be named.
    let mut command = arguments::Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &[], &mut pages);
    pages
}

fn add(command: &Command, above: &[String], pages: &mut Vec<Page>) {
    let name = name_of(command);
    let below: Vec<String> = command.get_subcommands().map(name_of).collect();
    let related = above.iter().filter(|it| **it != name).chain(&below).cloned().collect();
    pages.push(Page { name: name.clone(), command: command.clone(), related });
    let around = [vec![name], below].concat();
    command.get_subcommands().for_each(|command| add(command, &around, pages));
}

fn name_of(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

/// Exit codes of pages with pages below them.
const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed or partly failed, 2 wrong usage or input, 3 no letter matches, 130 interrupted.";

/// Returns the paragraphs that `--help` leaves out.
fn more(page: &str) -> &'static str {
    match page {
        "redrive-dlq-import" => dlq::MORE_ON_IMPORT,
        "redrive-dlq-retry" => dlq::MORE_ON_RETRY,
        "redrive-dlq-triage" => dlq::MORE_ON_TRIAGE,
        "redrive" | "redrive-dlq" => EXIT_CODES,
        _ => "",
    }
}

impl Page {
    fn text(&self) -> anyhow::Result<String> {
        let footer = self.command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let chooses = self.command.get_arguments().any(|argument| argument.get_id() == "conditions");
        let conditions = if chooses && !footer.contains(CONDITIONS) { CONDITIONS } else { "" };
        let footer = format!("{footer}\n\n{}\n\n{conditions}", more(&self.name));
        let footer = Footer::parse(&footer);
        let man = Man::new(self.command.clone());
        let mut text = Vec::new();
        man.render_title(&mut text)?;
        man.render_name_section(&mut text)?;
        man.render_synopsis_section(&mut text)?;
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
        if self.command.has_subcommands() {
            man.render_subcommands_section(&mut text)?;
        }
        let mut roff = Roff::default();
        footer.write_exit_status(&mut roff);
        write_named(&mut roff, "ENVIRONMENT", &surroundings::variables(&self.command));
        write_named(&mut roff, "FILES", &surroundings::files(&self.command));
        footer.write_notes(&mut roff);
        footer.write_examples(&mut roff);
        roff.control("SH", ["SEE ALSO"]);
        let related: Vec<_> = self.related.iter().map(|name| format!("{name}(1)")).collect();
        roff.text([roman(related.join(", "))]);
        roff.to_writer(&mut text)?;
        Ok(String::from_utf8(text)?)
    }
}

/// Writes a section of terms and their meanings, unless it is empty.
fn write_named(roff: &mut Roff, section: &str, terms: &[(&str, &str)]) {
    if !terms.is_empty() {
        roff.control("SH", [section]);
    }
    for (term, meaning) in terms {
        roff.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
}
