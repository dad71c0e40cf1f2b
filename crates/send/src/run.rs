//! A run: it takes messages from a stream, makes the calls, and returns the results in order.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

use std::collections::HashMap;
use std::error::Error;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use aws_sdk_sqs::types::{BatchResultErrorEntry, SendMessageBatchRequestEntry};
use futures_util::FutureExt;
use futures_util::future::{self, FusedFuture};
use futures_util::stream::{Fuse, FuturesOrdered, Stream, StreamExt};
use redrive_sqs::batch::Reply;
use redrive_sqs::{MAX_BYTES, MAX_ENTRIES, PayloadPointer, is_expired_or_skewed};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::SendError;
use crate::error::innermost;
use crate::large::AnyLargeBodies;
use crate::message::NewMessage;
use crate::sender::Sender;
use crate::waiting::{Answer, Fate, Waiting};

/// The most messages from the first one without a result to the last one that was taken.
const WINDOW: usize = 1_000;

/// The time that calls under way have to be answered after a stop.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The time that the body of a message has to be stored.
const STORE: Duration = Duration::from_secs(300);

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The answer of SQS, or none if there was none in time.
type Called = Option<Result<SendMessageBatchOutput, SdkError<SendMessageBatchError, HttpResponse>>>;

/// A message that something was done for before it can be sent.
enum Prepared {
    Message(NewMessage),
    #[cfg(feature = "schedules")]
    Scheduled(Fate),
    /// A message that is not sent, with its group.
    Failed(Option<String>, SendError),
}

pub(crate) struct Run<S, F> {
    sender: Sender,
    source: Fuse<S>,
    /// Ends the sending.
    stop: future::Fuse<F>,
    /// When that was.
    stopped_at: Option<Instant>,
    /// The maximum number of calls at a time. On a slow network, they must not share it until all of them take too long.
    concurrency: usize,
    began: Instant,
    waiting: Waiting<NewMessage>,
    /// Tasks, so that a call whose time has come leaves even if nobody takes results meanwhile.
    calls: JoinSet<(Vec<usize>, Called)>,
    /// In the order of their messages, because a later message of a group must not overtake.
    storing: FuturesOrdered<BoxFuture<(usize, Prepared)>>,
    /// The number of the next message from the source.
    next: usize,
    /// The number of the next message whose result is returned.
    returned: usize,
}

impl<S, F> Run<S, F>
where
    S: Stream<Item = Result<NewMessage, serde_json::Error>> + Unpin,
    F: Future<Output = ()> + Unpin,
{
    pub(crate) fn new(sender: Sender, source: S, stop: F) -> Self {
        Self {
            waiting: Waiting::new(sender.is_fifo, sender.patience, sender.rate),
            source: source.fuse(),
            stop: stop.fuse(),
            stopped_at: None,
            concurrency: sender.concurrency,
            sender,
            began: Instant::now(),
            calls: JoinSet::new(),
            storing: FuturesOrdered::new(),
            next: 0,
            returned: 0,
        }
    }

    /// Returns the next result, or none after the last one. If it is dropped meanwhile, nothing is lost.
    pub(crate) async fn next(&mut self) -> Option<Fate> {
        loop {
            if !self.stop.is_terminated() && (&mut self.stop).now_or_never().is_some() {
                self.stop_all();
            }
            let is_idle = self.take_ready();
            // Read once: what is due later than this has a timer below.
            let now = self.now();
            self.start_calls(is_idle, now);
            if let Some(fate) = self.waiting.take(self.returned) {
                self.returned += 1;
                return Some(fate);
            }
            let is_done = self.source.is_done() || self.stop.is_terminated();
            if self.returned == self.next && is_done {
                return None;
            }
            let due = self.waiting.due_at(now).map(|due| self.began + due);
            let has_room = self.has_room();
            tokio::select! {
                biased;
                Some(ended) = self.calls.join_next(), if !self.calls.is_empty() => match ended {
                    Ok((numbers, called)) => self.answered(&numbers, called),
                    Err(error) => resume_unwind(error.into_panic()),
                },
                Some(prepared) = self.storing.next(), if !self.storing.is_empty() => self.prepared(prepared),
                message = self.source.next(), if has_room && !is_done => {
                    if let Some(message) = message {
                        self.add(message);
                    }
                }
                () = sleep_until(due.unwrap_or(self.began)), if due.is_some() => {}
                () = &mut self.stop, if !self.stop.is_terminated() => self.stop_all(),
                () = sleep_until(self.stopped_at.unwrap_or(self.began) + LAST_ANSWERS), if self.stopped_at.is_some() => {
                    self.abandon_calls();
                }
            }
        }
    }

    fn stop_all(&mut self) {
        self.stopped_at = Some(Instant::now());
        self.waiting.stop_all();
    }

    /// Settles what has no answer yet.
    fn abandon_calls(&mut self) {
        (self.calls, self.storing) = (JoinSet::new(), FuturesOrdered::new());
        for number in self.returned..self.next {
            self.waiting.abandon(number);
        }
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns true if more messages may be taken: twice as many as the calls can carry.
    fn has_room(&self) -> bool {
        let (messages, bytes) = self.waiting.load();
        let calls = 2 * self.sender.concurrency;
        messages < calls * MAX_ENTRIES
            && !self.stop.is_terminated()
            && self.storing.len() < self.sender.concurrency
            && bytes < calls * MAX_BYTES
            && self.next - self.returned < WINDOW
    }

    /// Takes the messages that are there. Returns true if no more of them will make the next call larger: what comes while a call
    /// is under way shares the next one.
    fn take_ready(&mut self) -> bool {
        while self.has_room() {
            match self.source.next().now_or_never() {
                Some(Some(message)) => self.add(message),
                Some(None) => return true,
                None => break,
            }
        }
        self.calls.is_empty()
    }

    fn add(&mut self, message: Result<NewMessage, serde_json::Error>) {
        let number = self.next;
        self.next += 1;
        let message = match message {
            Ok(message) => message,
            Err(error) => return self.waiting.refuse(number, None, error.into()),
        };
        let message = message.traced();
        #[cfg(feature = "schedules")]
        if let Some((schedules, delay)) = self.sender.schedule_of(&message) {
            let sender = self.sender.clone();
            let scheduled = async move { (number, schedule(&sender, &schedules, message, delay).await) };
            return self.storing.push_back(Box::pin(scheduled));
        }
        match self.sender.large.clone() {
            Some(store) if store.takes(&message) => {
                let is_fifo = self.sender.is_fifo;
                self.storing
                    .push_back(Box::pin(async move { (number, offload(&*store, message, is_fifo).await) }));
            }
            // What follows a body that is being stored may be of its group.
            Some(_) if self.sender.is_fifo && !self.storing.is_empty() => {
                self.storing.push_back(Box::pin(std::future::ready((number, Prepared::Message(message)))));
            }
            _ => self.prepared((number, Prepared::Message(message))),
        }
    }

    fn prepared(&mut self, (number, prepared): (usize, Prepared)) {
        let message = match prepared {
            Prepared::Message(message) => message,
            #[cfg(feature = "schedules")]
            Prepared::Scheduled(fate) => return self.waiting.settled(number, fate),
            Prepared::Failed(group, error) => return self.waiting.refuse(number, group.as_deref(), error),
        };
        let group = message.group.as_deref();
        match message.check_for(self.sender.is_fifo) {
            Ok(()) => {
                let (group, size) = (message.group.clone(), message.size());
                let now = self.now();
                self.waiting.add(number, group.as_deref(), size, message, now);
            }
            Err(error) => self.waiting.refuse(number, group, error),
        }
    }

    fn start_calls(&mut self, flush: bool, now: Duration) {
        while self.calls.len() < self.concurrency {
            let numbers = self.waiting.next_call(now, flush);
            if numbers.is_empty() {
                break;
            }
            let is_fifo = self.sender.is_fifo;
            let entries =
                numbers.iter().map(|number| self.waiting.message(*number).entry(*number, is_fifo)).collect();
            let call = call(self.sender.clone(), entries);
            self.calls.spawn(async move { (numbers, call.await) });
        }
    }

    fn answered(&mut self, numbers: &[usize], called: Called) {
        let output = match called {
            Some(Ok(output)) => output,
            failed => {
                let lost = || {
                    (
                        Reply::Lost,
                        format!("SQS did not answer within {} s", self.sender.timeout.as_secs_f64()),
                    )
                };
                if failed.is_none() {
                    self.concurrency = (self.concurrency / 2).max(1);
                }
                let error = failed.as_ref().and_then(|failed| failed.as_ref().err());
                let (reply, text) =
                    error.map_or_else(lost, |error| (of_error(error, numbers.len()), text_of(error)));
                numbers.iter().for_each(|&number| self.settle(number, Answer { reply, text: text.clone() }));
                return;
            }
        };
        let mut sent: HashMap<_, _> =
            output.successful.into_iter().map(|entry| (entry.id, entry.message_id)).collect();
        for &number in numbers {
            let id = number.to_string();
            let failed = output.failed.iter().find(|entry| entry.id == id);
            let answer = match (sent.remove(&id), failed) {
                (Some(message_id), _) => Answer { reply: Reply::Confirmed, text: message_id },
                (None, Some(entry)) => of_entry(entry),
                (None, None) => Answer { reply: Reply::Lost, text: "SQS gave no result for it".to_owned() },
            };
            self.settle(number, answer);
        }
    }

    fn settle(&mut self, number: usize, answer: Answer<'_>) {
        self.waiting.answered(number, answer, self.now(), fastrand::f64());
    }
}

/// Stores the body elsewhere, unless SQS would refuse the message anyway.
async fn offload(store: &dyn AnyLargeBodies, mut message: NewMessage, is_fifo: bool) -> Prepared {
    let body = std::mem::replace(&mut message.body, "a pointer".to_owned());
    message.attributes.extend([PayloadPointer::attribute(body.len())]);
    if let Err(error) = message.check_for(is_fifo) {
        return Prepared::Failed(message.group, error);
    }
    let stored = match timeout(STORE, store.store(body)).await {
        Ok(stored) => stored,
        Err(_) => Err(format!("it was not stored within {} s", STORE.as_secs()).into()),
    };
    match stored {
        Ok(pointer) => Prepared::Message(NewMessage { body: pointer.body(), ..message }),
        Err(error) => Prepared::Failed(message.group, SendError::Body(error.into())),
    }
}

/// Lets a schedule send the message. Its group has no order.
#[cfg(feature = "schedules")]
async fn schedule(
    sender: &Sender,
    schedules: &crate::Schedules,
    message: NewMessage,
    delay: Duration,
) -> Prepared {
    // On a standard queue, the id is only for the schedule.
    let id = message.deduplication.clone();
    let message = NewMessage { delay: None, deduplication: id.clone().filter(|_| sender.is_fifo), ..message };
    let prepared = match &sender.large {
        Some(store) if store.takes(&message) => offload(&**store, message, sender.is_fifo).await,
        _ => Prepared::Message(message),
    };
    Prepared::Scheduled(match prepared {
        Prepared::Message(message) => match message.check_for(sender.is_fifo) {
            Ok(()) => schedules.create(&sender.queue_url, id, message, delay, sender.patience).await,
            Err(error) => Err(error),
        },
        Prepared::Failed(_, error) => Err(error),
        Prepared::Scheduled(fate) => fate,
    })
}

/// Makes a call once, because the SDK would repeat the entries that were accepted too.
async fn call(sender: Sender, entries: Vec<SendMessageBatchRequestEntry>) -> Called {
    let once = Builder::new().retry_config(RetryConfig::disabled());
    let call = sender.client.send_message_batch().queue_url(&*sender.queue_url).set_entries(Some(entries));
    // The SDK alone would wait for as long as the connection is open.
    match timeout(sender.timeout, call.customize().config_override(once).send()).await {
        Ok(Err(SdkError::TimeoutError(_))) | Err(_) => None,
        Ok(called) => Some(called),
    }
}

fn is_without_credentials(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next.filter(|error| !error.is::<CredentialsError>()) {
        next = error.source();
    }
    next.is_some()
}

fn text_of(error: &SdkError<SendMessageBatchError, HttpResponse>) -> String {
    match (error.code(), error.message(), error.raw_response()) {
        (Some(code), Some(message), _) => format!("{code}: {message}"),
        (Some(code), None, _) => code.to_owned(),
        (None, _, Some(answer)) => format!("the answer with status {} is not from SQS", answer.status()),
        (None, _, None) => innermost(error).to_string(),
    }
}

fn of_entry(entry: &BatchResultErrorEntry) -> Answer<'_> {
    let text = match &entry.message {
        Some(message) => format!("{}: {message}", entry.code),
        None => entry.code.clone(),
    };
    Answer { reply: Reply::Failed { code: &entry.code, sender_fault: entry.sender_fault }, text }
}

fn of_error(error: &SdkError<SendMessageBatchError, HttpResponse>, entries: usize) -> Reply<'_> {
    match (error, error.code()) {
        // Until the SDK has new credentials, or the clock is set.
        (_, Some(code)) if is_expired_or_skewed(code) => {
            Reply::Failed { code: "InternalError", sender_fault: false }
        }
        (SdkError::ServiceError(answer), code) => {
            Reply::Refused { status: answer.raw().status().as_u16(), code, entries }
        }
        (_, None) if is_without_credentials(error) => {
            Reply::Failed { code: "AccessDenied", sender_fault: true }
        }
        // The call could not be made.
        (SdkError::ConstructionFailure(_), _) => Reply::Failed { code: "AccessDenied", sender_fault: true },
        _ => Reply::Lost,
    }
}
