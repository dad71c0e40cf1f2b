//! Where somebody sits, looks at a letter and says what becomes of it.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::card::{Screen, body, card};
use super::keys::{Key, ask, tell};
use crate::aws::Aws;
use crate::dlq::escape::escape_terminal;
use crate::dlq::hold::Hold;
use crate::dlq::letter::Letter;
use crate::dlq::show::{history, look_up};
use crate::find::Pair;

const KEYS: &str = "r retry  l logs  e edit  d delete  s skip  b body  ? help  q quit: ";

const HELP: &str = "\
  r  send it back, and then delete it here
  l  what the function's log says about it
  e  edit it in $VISUAL or $EDITOR, then send it back; unchanged, it stays
  d  delete it for good, after a question
  s  leave it, go on to the next; on a FIFO queue its group is left with it
  b  the whole body
  q  leave it and all others (Ctrl-D too); everything left is visible again at once
";

/// What becomes of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Send,
    Edit,
    Delete,
    Skip,
    Quit,
}

pub(crate) struct Desk {
    pub(crate) aws: Aws,
    pub(crate) pair: Pair,
    pub(crate) retention: Duration,
    pub(crate) log_group: Option<String>,
    /// Whether letters are deleted without a question.
    pub(crate) is_sure: bool,
}

impl Desk {
    /// # Errors
    /// The terminal cannot be written.
    pub(crate) fn show(&self, letter: &mut Letter, number: u64, of: u64, is_all: bool) -> anyhow::Result<()> {
        letter.max_receive_count = self.pair.max_receive_count();
        let upto = if is_all { "" } else { "up to " };
        let place = format!("{number} of {upto}{of}");
        tell(&card(letter, &place, self.retention, SystemTime::now(), screen()))?;
        tell("\n")
    }

    /// Asks until something is to be done with the letter.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub(crate) async fn ask(&self, letter: &mut Letter, hold: &Hold) -> anyhow::Result<Answer> {
        loop {
            let key = match ask(KEYS, hold).await? {
                Key::Char(c) => c.to_ascii_lowercase(),
                Key::Enter | Key::Other => '?',
                Key::End | Key::Stop => return Ok(Answer::Quit),
            };
            match key {
                'r' => return Ok(Answer::Send),
                'e' => return Ok(Answer::Edit),
                's' => return Ok(Answer::Skip),
                'q' => return Ok(Answer::Quit),
                'd' if self.is_sure => return Ok(Answer::Delete),
                'd' => match ask("Really delete it? It cannot be brought back. [y/N] ", hold).await? {
                    Key::Char('y' | 'Y') => return Ok(Answer::Delete),
                    Key::Char(_) | Key::Enter | Key::Other => (),
                    Key::End | Key::Stop => return Ok(Answer::Quit),
                },
                'l' => self.tell_history(letter, hold).await?,
                'b' => tell(&format!("{}\n", body(letter)))?,
                _ => tell(HELP)?,
            }
        }
    }

    /// # Errors
    /// The terminal cannot be written.
    pub(crate) fn say(&self, line: &str) -> anyhow::Result<()> {
        tell(&format!("{}\n", escape_terminal(line)))
    }

    async fn tell_history(&self, letter: &mut Letter, hold: &Hold) -> anyhow::Result<()> {
        let events = tokio::select! {
            events = look_up(&self.aws, &self.pair, self.log_group.as_deref(), letter) => events,
            () = hold.stopped() => None,
        };
        match events {
            Some(events) => tell(history(&events).trim_start_matches('\n')),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("pair", &self.pair).finish_non_exhaustive()
    }
}

fn screen() -> Screen {
    let (rows, columns) = console::Term::stderr().size();
    Screen { rows: rows.into(), columns: columns.into() }
}
