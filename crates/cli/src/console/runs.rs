//! Runs the verbs that change something.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::action::{LetterAction, Words};
use super::child::{Child, OutputLine};
use super::progress::Progress;
use crate::fleet::DeadLetterQueue;
use crate::letters::when::rfc3339;
use crate::scratch::Desk;
use crate::shell::word;

/// Number of ended verbs that are kept.
const MOST: usize = 50;
/// Time that a reader waits for a change.
const PATIENCE: Duration = Duration::from_secs(20);
/// Changes within this time reach a reader together.
const COALESCED: Duration = Duration::from_millis(150);
/// Time for all verbs to end with the page.
const FAREWELL: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(super) struct Runs(Mutex<Vec<Arc<Run>>>);

/// A verb that runs or has run.
#[derive(Debug)]
pub(super) struct Run {
    number: usize,
    verb: &'static str,
    queue: DeadLetterQueue,
    letters: usize,
    command: String,
    began: SystemTime,
    stop: Notify,
    progress: watch::Sender<Progress>,
}

impl Runs {
    /// Starts a verb once nobody lists the queue's letters any more. A queue has only one verb at a time.
    ///
    /// # Errors
    /// Another verb changes this queue, or a file cannot be written.
    pub(super) fn start(
        &self,
        program: &Path,
        queue: DeadLetterQueue,
        action: &LetterAction,
        (words, shown): (Words, Words),
        listing: Arc<tokio::sync::Mutex<()>>,
    ) -> Result<Arc<Run>, String> {
        let mut runs = self.list();
        if let Some(run) = runs.iter().find(|run| run.is_on(&queue.arn)) {
            return Err(run.refusal());
        }
        let document = action.document.as_ref().map(|text| Desk::with("letter.json", text)).transpose();
        let desk = document.map_err(|error| format!("could not make a file for the letter: {error}"))?;
        let letters = queue.letters;
        let run = Arc::new(Run {
            number: runs.last().map_or(1, |last| last.number + 1),
            verb: action.verb.name(),
            queue,
            letters: if action.all {
                usize::try_from(letters).unwrap_or(usize::MAX)
            } else {
                action.ids.len()
            },
            command: shown.typed(),
            began: SystemTime::now(),
            stop: Notify::new(),
            progress: watch::Sender::default(),
        });
        runs.push(Arc::clone(&run));
        if runs.len() > MOST
            && let Some(over) = runs.iter().position(|run| run.is_over())
        {
            runs.remove(over);
        }
        let (words, ids) = (words.with(&["--yes", "--json"]), action.ids.join("\n") + "\n");
        let (followed, program) = (Arc::clone(&run), program.to_owned());
        tokio::spawn(async move {
            let _listing = tokio::select! {
                listing = listing.lock_owned() => listing,
                () = followed.stop.notified() => return followed.end_without_child("stopped before it started", 130),
            };
            // `--edit` starts this editor, which replaces the command's document with the page's.
            let editor = desk.as_ref().map(|desk| format!("cp -- {}", word(&desk.file().to_string_lossy())));
            let code = match Child::start(&program, &words, ids, editor) {
                Ok(child) => followed.follow(child).await,
                Err(error) => return followed.end_without_child(&error, 1),
            };
            drop(desk);
            followed.progress.send_modify(|progress| progress.end(code));
        });
        Ok(run)
    }

    /// Returns the reason why the letters of a queue cannot be listed now, if any.
    pub(super) fn refusal(&self, queue: &str) -> Option<String> {
        self.list().iter().find(|run| run.is_on(queue)).map(|run| run.refusal())
    }

    pub(super) fn find(&self, number: usize) -> Option<Arc<Run>> {
        self.list().iter().find(|run| run.number == number).cloned()
    }

    /// Returns summaries of the verbs, the last one first.
    pub(super) fn summaries(&self) -> Vec<Value> {
        self.list().iter().rev().map(|run| run.summary()).collect()
    }

    /// Ends all verbs and waits for them.
    pub(super) async fn end(&self) {
        let runs: Vec<_> = self.list().iter().filter(|run| !run.is_over()).cloned().collect();
        runs.iter().for_each(|run| run.stop());
        let over = async {
            for run in &runs {
                // It fails only if nobody follows the verb any more.
                let _ = run.progress.subscribe().wait_for(|progress| progress.ended.is_some()).await;
            }
        };
        let _ = timeout(FAREWELL, over).await;
    }

    fn list(&self) -> MutexGuard<'_, Vec<Arc<Run>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run {
    pub(super) fn stop(&self) {
        self.progress.send_modify(|progress| {
            progress.version += 1;
            progress.is_stopping = true;
        });
        self.stop.notify_one();
    }

    fn end_without_child(&self, why: &str, code: i32) {
        self.progress.send_modify(|progress| {
            progress.take(OutputLine::Stderr(why.to_owned()));
            progress.end(code);
        });
    }

    /// Follows the verb and returns its exit code.
    async fn follow(&self, mut child: Child) -> i32 {
        loop {
            tokio::select! {
                line = child.next() => match line {
                    Some(line) => self.progress.send_modify(|progress| progress.take(line)),
                    None => return child.code().await,
                },
                () = self.stop.notified() => child.ask_to_end(),
            }
        }
    }

    fn is_on(&self, queue: &str) -> bool {
        self.queue.arn == queue && !self.is_over()
    }

    fn refusal(&self) -> String {
        let Self { number, verb, queue, .. } = self;
        format!("run {number} ({verb}) is at work on {}: wait until it ends, or stop it", queue.name)
    }

    fn is_over(&self) -> bool {
        self.progress.borrow().ended.is_some()
    }

    /// Returns the progress once it has changed since this version.
    pub(super) async fn after(&self, version: u64) -> Value {
        let mut progress = self.progress.subscribe();
        let is_new =
            timeout(PATIENCE, progress.wait_for(|progress| progress.version > version)).await.is_ok();
        if is_new && !self.is_over() {
            tokio::time::sleep(COALESCED).await;
        }
        self.details()
    }

    pub(super) fn details(&self) -> Value {
        let mut details = self.summary();
        details["command"] = json!(self.command);
        details["began"] = json!(rfc3339(self.began));
        details["progress"] = json!(&*self.progress.borrow());
        details
    }

    fn summary(&self) -> Value {
        json!({
            "number": self.number,
            "verb": self.verb,
            "queue": self.queue.arn,
            "name": self.queue.name,
            "letters": self.letters,
            "ended": self.progress.borrow().ended,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::action::tests::queue;
    use super::*;

    fn start(runs: &Runs, listing: &Arc<tokio::sync::Mutex<()>>) -> Result<Arc<Run>, String> {
        let action = json!({ "verb": "delete", "queue": "q", "ids": ["a"] });
        let action = serde_json::from_value(action).expect("it is an action");
        let words = || Words::new(&["dlq", "delete"]);
        runs.start(
            Path::new("/no/such/program"),
            queue(&[]),
            &action,
            (words(), words()),
            Arc::clone(listing),
        )
    }

    #[tokio::test]
    async fn a_run_that_waits_for_a_listing_can_be_stopped() {
        let (runs, listing) = (Runs::default(), Arc::new(tokio::sync::Mutex::new(())));
        let listed = Arc::clone(&listing).lock_owned().await;
        let run = start(&runs, &listing).unwrap();
        assert!(start(&runs, &listing).unwrap_err().contains("is at work on orders-dead"));
        runs.end().await;
        let progress = &run.details()["progress"];
        assert_eq!(
            (&progress["ended"], &progress["said"]),
            (&json!(130), &json!(["stopped before it started"]))
        );
        drop(listed);
        let run = start(&runs, &listing).unwrap();
        let progress = &run.after(0).await["progress"];
        assert_eq!(progress["ended"], json!(1), "{progress}");
        assert!(
            progress["said"][0].as_str().unwrap().starts_with("could not start /no/such/program"),
            "{progress}"
        );
    }
}
