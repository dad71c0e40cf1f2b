//! Shows a letter on the terminal and asks what to do with it.

use std::fmt;
use std::time::{Duration, SystemTime};

use futures_util::future::LocalBoxFuture;

use super::card::{Screen, body, card};
use super::keys::{Key, ask};
use crate::aws::Aws;
use crate::dlq::retry::{Edited, Editor};
use crate::dlq::show::{history, look_up};
use crate::find::Pair;
use crate::letters::{Choice, Decider, LeftReason, Letter, Redrive};
use crate::output::{Line, Stream, tell_all};
use crate::scratch::Desk;
use crate::sqs::{LetterLease, QueueRules};

const KEYS: &str = "r retry  l logs  e edit  d delete  s skip  b body  ? help  q quit: ";

const HELP: &str = "\
  r  send it back, and then delete it here
  l  show its lines in the function's log
  e  edit it in $VISUAL or $EDITOR, then send it back if it changed
  d  delete it for good, after confirmation
  s  skip it and show the next; on a FIFO queue its group stays too
  b  show the whole body
  q  leave it and all others (Ctrl-D too); everything left is visible again at once
";

pub(crate) struct Prompt {
    pub(crate) aws: Aws,
    pub(crate) pair: Pair,
    pub(crate) to: QueueRules,
    pub(crate) retention: Duration,
    pub(crate) log_group: Option<String>,
    /// True if letters are deleted without a question.
    pub(crate) is_sure: bool,
}

impl Prompt {
    /// Asks until the user chooses an action for the letter.
    async fn choose(&self, letter: &mut Letter, place: &str, lease: &LetterLease) -> anyhow::Result<Choice> {
        let mut card = card(letter, place, self.retention, SystemTime::now(), screen());
        card.push(Line::default());
        tell_all(&card)?;
        loop {
            let key = match ask(KEYS, lease).await? {
                Key::Char(c) => c.to_ascii_lowercase(),
                Key::Enter | Key::Other => '?',
                Key::End | Key::Stop => return Ok(Choice::Quit),
            };
            match key {
                'r' => return Ok(Choice::Send(None)),
                'e' => match self.edit(letter, lease).await {
                    Ok(edited) => return Ok(Choice::Send(Some(edited))),
                    Err(reason) => self.report(&reason)?,
                },
                's' => return Ok(Choice::Leave(LeftReason::Skipped)),
                'q' => return Ok(Choice::Quit),
                'd' if self.is_sure => return Ok(Choice::Delete),
                'd' => match ask("Delete this letter? This cannot be undone. [y/N] ", lease).await? {
                    Key::Char('y' | 'Y') => return Ok(Choice::Delete),
                    Key::Char(_) | Key::Enter | Key::Other => (),
                    Key::End | Key::Stop => return Ok(Choice::Quit),
                },
                'l' => self.show_history(letter, lease).await?,
                'b' => tell_all(&body(letter))?,
                _ => tell_all(&HELP.lines().map(Line::from).collect::<Vec<_>>())?,
            }
        }
    }

    /// # Errors
    /// The letter cannot be sent yet: the reason, for people.
    async fn edit(&self, letter: &Letter, lease: &LetterLease) -> Result<(Box<Redrive>, Desk), String> {
        let redrive = Redrive::new(letter, &self.to)?;
        let editor = Editor::from_env().map_err(|_| "no editor: set VISUAL or EDITOR".to_owned())?;
        match editor.edit(letter, &redrive, self.to.largest, lease).await {
            Ok(Edited::Changed(redrive, desk)) => Ok((redrive, desk)),
            Ok(Edited::Stopped) => Err("interrupted".to_owned()),
            Ok(Edited::Unchanged) => Err("nothing was changed, so nothing was sent".to_owned()),
            Err(error) => Err(format!("{error:#}")),
        }
    }

    async fn show_history(&self, letter: &mut Letter, lease: &LetterLease) -> anyhow::Result<()> {
        let events = tokio::select! {
            events = look_up(&self.aws, &self.pair, self.log_group.as_deref(), letter) => events,
            () = lease.stopped() => None,
        };
        match events {
            Some(events) => Ok(tell_all(&history(&events))?),
            None => Ok(()),
        }
    }
}

impl Decider for Prompt {
    fn decide<'a>(
        &'a self,
        letter: &'a mut Letter,
        place: String,
        lease: &'a LetterLease,
    ) -> LocalBoxFuture<'a, anyhow::Result<Choice>> {
        Box::pin(async move { self.choose(letter, &place, lease).await })
    }

    fn report(&self, line: &str) -> anyhow::Result<()> {
        Ok(tell_all(&[line.into()])?)
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("pair", &self.pair).finish_non_exhaustive()
    }
}

fn screen() -> Screen {
    let (rows, columns) = Stream::Stderr.size().unwrap_or((24, 80));
    Screen { rows, columns }
}
