//! One letter at a time, as somebody at a desk says.

use std::sync::atomic::Ordering;

use super::super::hold::Hold;
use super::super::letter::Letter;
use super::super::retry::{Edited, Editor, Outgoing};
use super::super::triage::Answer;
use super::ledger::Why;
use super::work::{Deletable, Role};
use super::{Route, Sweep, Triage, visible};

impl Sweep<'_> {
    /// Each is done before the next is shown. What was received and is not shown any more counts as not met.
    pub(super) async fn ask(&self, letters: Vec<Letter>) {
        if letters.is_empty() {
            return self.batch(vec![]).await;
        }
        for letter in letters {
            if self.is_stopping() {
                return;
            }
            self.batch(vec![letter]).await;
        }
    }

    /// Does what somebody says about letters that they may send or delete.
    pub(super) async fn ask_about(&self, letters: Vec<Letter>, triage: &Triage) {
        for letter in letters {
            if let Err(error) = self.ask_about_one(letter, triage).await {
                self.fail(error);
            }
        }
    }

    async fn ask_about_one(&self, mut letter: Letter, triage: &Triage) -> anyhow::Result<()> {
        let (desk, route) = (&triage.desk, &triage.route);
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let most = self.order.selection.most().unwrap_or(u64::MAX).min(visible(&self.order.from));
        desk.show(&mut letter, number, most.max(number), self.order.selection.is_all())?;
        loop {
            let answer = match desk.ask(&mut letter, self.hold).await {
                Ok(answer) => answer,
                Err(error) => {
                    self.leave(&letter, Why::NotShown);
                    return Err(error);
                }
            };
            match answer {
                Answer::Send => {
                    let sent = self.send(vec![letter], route).await;
                    return self.finish(sent, triage).await;
                }
                Answer::Edit => match edit(&letter, route, self.hold).await {
                    Ok(outgoing) => {
                        let sent = self.send_as(vec![(letter, outgoing)], route).await;
                        return self.finish(sent, triage).await;
                    }
                    Err(reason) => desk.say(&reason)?,
                },
                Answer::Delete => {
                    // Others of the same message are asked about by themselves.
                    self.ledger().give_up(&letter, None);
                    self.delete(vec![Deletable { letter, role: Role::Unwanted }]).await;
                    return Ok(());
                }
                Answer::Skip => {
                    self.leave(&letter, Why::Skipped);
                    if let Some(group) = self.group(&letter) {
                        desk.say(&format!("skipped, and with it what is behind it in the group {group}"))?;
                    }
                    return Ok(());
                }
                Answer::Quit => {
                    self.leave(&letter, Why::NotShown);
                    self.quit.store(true, Ordering::Relaxed);
                    return Ok(());
                }
            }
        }
    }

    /// What was sent is deleted; what was not has been told.
    async fn finish(&self, sent: Vec<Deletable>, triage: &Triage) -> anyhow::Result<()> {
        let is_sent = !sent.is_empty();
        self.delete(sent).await;
        match is_sent {
            true => triage.desk.say(&format!("sent to {}", triage.route.to.name())),
            false => Ok(()),
        }
    }

    pub(super) fn leave(&self, letter: &Letter, why: Why) {
        self.ledger().give_up(letter, self.group(letter));
        self.story.left(letter, why);
    }
}

/// # Errors
/// Why there is nothing to send yet, in words for people.
async fn edit(letter: &Letter, route: &Route, hold: &Hold) -> Result<Outgoing, String> {
    let outgoing = Outgoing::new(letter, route.destination())?;
    let editor = Editor::from_env().map_err(|_| "no editor: set VISUAL or EDITOR".to_owned())?;
    match editor.edit(&letter.id, &outgoing, route.destination(), hold).await {
        Ok(Edited::Changed(outgoing)) => Ok(*outgoing),
        Ok(Edited::Stopped) => Err("interrupted".to_owned()),
        Ok(Edited::Unchanged) => Err("nothing was changed, and nothing was sent".to_owned()),
        Err(error) => Err(format!("{error:#}")),
    }
}
