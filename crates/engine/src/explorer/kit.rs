//! Takes the steps of an example in redrive-local's kit: real consumers with their shells and SDK clients, the kit's queues,
//! and tokio's paused clock. Calls are answered, handlers end and time advances only in steps. The rules of the explorer's
//! own world judge what the kit shows.
#![expect(clippy::disallowed_methods, reason = "it reads tokio's paused clock")]

mod puppet;
mod wire;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use redrive::reexports::{serde_json, tokio};
use redrive_local::kit::TestAws;
use redrive_local::{Delivery, NewMessage, QueueEvent};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::{Instant, advance};

use self::puppet::{Handlers, Puppet};
use self::wire::{Waiting, Wire};
use super::search::text;
use super::world::{
    CallFate, Checked, Consumer as Known, DEADLINE, DRAIN, Fact, HandlerEnd, Mood, OF_THE_QUEUE, Running,
    SqsRequest, Step, UNTIL, UnderWay, World, names,
};
use super::{Bounds, Consumes};
use crate::keys::BatchKey;
use crate::{SettleCall, Time};
use redrive::{Consumer, LastDelivery, Message, Metrics, Overrides, Text};

/// Rounds in which everything is polled, so that whatever needs no time happens.
const ROUNDS: usize = 30;
/// The time between two tries of a call, with a tick of tokio's timers.
const PAUSE: Duration = Duration::from_millis(51);
/// The time between two looks at something that takes longer than in the explorer's world.
const NUDGE: Duration = Duration::from_millis(10);
/// The real time that another thread may take until it runs a handler.
const THREAD: Duration = Duration::from_millis(100);
/// The time by which each try waits longer for a thread that has begun.
const BREATH: Duration = Duration::from_millis(2);

/// Takes steps in the kit, as far as the explorer's world can take them, and returns the violation, if there is one.
///
/// # Errors
/// A step cannot be taken in the kit.
pub(super) fn replay(bounds: &'static Bounds, steps: &[Step]) -> Result<Option<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let mut kit = Kit::new(bounds);
        let (mut world, mut is_wrong) = (World::new(bounds), false);
        kit.settle().await;
        for (number, step) in steps.iter().enumerate() {
            if !world.steps().contains(step) {
                break;
            }
            let before = world.clone();
            // The last step may violate a rule in the middle of it.
            let taken = catch_unwind(AssertUnwindSafe(|| world.take(*step)));
            is_wrong = !matches!(taken, Ok(Ok(())));
            if let Err(why) = kit.take(*step, &before, &world).await
                && kit.violation.is_none()
            {
                return Err(format!("step {} ({}): {why}", number + 1, before.words(*step)));
            }
            if kit.violation.is_some() {
                break;
            }
        }
        for _ in 0..if is_wrong { 100 } else { 10 } {
            if kit.violation.is_some() {
                break;
            }
            kit.wait().await;
        }
        Ok(kit.violation)
    })
}

type Run = Pin<Box<dyn Future<Output = Vec<u8>>>>;

/// A worker, or a sandbox.
struct Process {
    consumer: Consumer<Puppet, Message<Text>>,
    wire: Wire,
    /// The worker, or an invocation, which ends with a response.
    run: Option<Run>,
    delivery: Option<Delivery>,
    stop: Option<oneshot::Sender<()>>,
    is_asleep: bool,
}

struct Kit {
    bounds: &'static Bounds,
    aws: TestAws,
    processes: Vec<Process>,
    handlers: Handlers,
    begins: (mpsc::SyncSender<()>, mpsc::Receiver<()>),
    /// Deliveries by their receipt handles.
    facts: HashMap<String, Arc<Fact>>,
    /// The messages of each group, or each message, that a receive has returned.
    batches: Vec<Vec<Arc<Fact>>>,
    /// The world as the kit has shown it, to be judged.
    seen: World,
    /// The numbers of the kit's events and of begun handlers that are noted.
    noted: (usize, usize),
    violation: Option<String>,
}

/// The request of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Receive,
    Settle(SettleCall),
    Extend,
    Attributes,
}

impl Kit {
    fn new(bounds: &'static Bounds) -> Self {
        let aws = TestAws::new();
        let (source, dead) = names(bounds);
        let queue =
            aws.queue(source).dead_letter_queue(dead, bounds.deliveries).visibility_timeout(OF_THE_QUEUE);
        let queue = queue.create();
        let send = |(number, group): (usize, &&str)| {
            let message = NewMessage {
                body: format!("m{}", number + 1),
                group_id: bounds.is_fifo.then(|| (*group).to_owned()),
                deduplication_id: bounds.is_fifo.then(|| number.to_string()),
                ..NewMessage::default()
            };
            queue.send(message).id().to_owned()
        };
        let ids = bounds.groups.iter().enumerate().map(send).collect();
        let noted = (aws.events().len(), 0);
        let mut kit = Self {
            bounds,
            aws,
            processes: Vec::new(),
            handlers: Handlers::default(),
            begins: mpsc::sync_channel(8),
            facts: HashMap::new(),
            batches: Vec::new(),
            seen: World { ids, ..World::new(bounds) },
            noted,
            violation: None,
        };
        for who in 0..bounds.consumers.len() {
            let process = kit.process(who);
            kit.processes.push(process);
            kit.seen.consumers[who] = Rc::new(Known::new(bounds.consumers[who], bounds, Time::ZERO));
        }
        kit
    }

    /// Creates a consumer as the explorer's world has it.
    fn process(&self, who: usize) -> Process {
        let (bounds, wire) = (self.bounds, Wire::default());
        let (source, dead) = names(bounds);
        let [source, dead] = [source, dead].map(|name| self.aws.with(|account, _| account.queue_url(name)));
        let (handlers, begins) = (self.handlers.clone(), self.begins.0.clone());
        let puppet = Puppet { who, handlers, blocks: self.blocks(), begins };
        let by_policy = bounds.by_redrive_policy;
        let mut consumer = Consumer::new(puppet)
            .sqs(wire.client(&self.aws))
            .metrics(Metrics::Off)
            .overrides(Overrides::Off)
            .concurrency(bounds.concurrency)
            .visibility_timeout(bounds.visibility)
            .drain(DRAIN)
            .reserve(DEADLINE - UNTIL)
            .max_receive_count(bounds.deliveries)
            .dead_letter_queue_url(dead)
            .last_delivery(if by_policy { LastDelivery::RedrivePolicy } else { LastDelivery::DeadLetter });
        if self.blocks() {
            consumer = consumer.workers(tokio::runtime::Handle::current());
        }
        let (stop, told) = oneshot::channel();
        let worker = consumer.clone();
        let run: Run = Box::pin(async move {
            let told = async { drop(told.await) };
            // Its end makes no difference: another begins.
            let _ = worker.work_until(source, told).await;
            Vec::new()
        });
        let run = (bounds.consumers[who] == Consumes::Worker).then_some(run);
        Process { consumer, wire, run, delivery: None, stop: Some(stop), is_asleep: false }
    }

    /// Replaces the process by a new one.
    fn replace(&mut self, who: usize) {
        self.processes[who] = self.process(who);
        self.handlers.clear(who);
        self.seen.consumers[who] = Rc::new(Known::new(self.bounds.consumers[who], self.bounds, Time::ZERO));
    }

    /// Takes a step that the explorer's world has taken, from before it to after it.
    async fn take(&mut self, step: Step, before: &World, after: &World) -> Checked {
        let running =
            |who: u8, handler: u8| &before.consumers[usize::from(who)].running[usize::from(handler)];
        match step {
            Step::Ends { who, handler, says } => {
                let (who, fact) = (usize::from(who), &running(who, handler).facts[0]);
                self.until("its handler runs", |kit| kit.handlers.run(who, fact)).await?;
                self.end(who, fact, says);
            }
            Step::Returns { who, blocked } => {
                let (_, fact) = &before.consumers[usize::from(who)].blocked[usize::from(blocked)];
                self.end(who.into(), fact, HandlerEnd::Done);
            }
            Step::IsCanceled { who, handler } => {
                let (who, fact) = (usize::from(who), &running(who, handler).facts[0]);
                self.until("its handler is canceled", |kit| !kit.handlers.run(who, fact)).await?;
            }
            Step::Calls { who, call, goes } => {
                let under_way = &before.consumers[usize::from(who)].calls[usize::from(call)];
                self.call(who.into(), under_way, None, goes, (before, after)).await?;
            }
            Step::Receives { who, call, most, goes } => {
                let under_way = &before.consumers[usize::from(who)].calls[usize::from(call)];
                self.call(who.into(), under_way, Some(most.into()), goes, (before, after)).await?;
            }
            Step::Delivers { who, most } => self.deliver(who.into(), most.into(), (before, after)).await?,
            Step::Duplicates { message } => self.duplicate(message.into()),
            Step::Kill { who } => self.replace(who.into()),
            Step::Signal { who } => {
                self.seen.consumer(who.into()).is_told = true;
                self.processes[usize::from(who)].stop.take().into_iter().for_each(|stop| {
                    let _ = stop.send(());
                });
            }
            Step::Time { .. } => self.time(after).await,
            // A handler that ignores its cancellation blocks its thread from its beginning.
            Step::Ignores { .. } | Step::Sleep { .. } | Step::Wake { .. } => {}
            Step::Places { .. } => return Err("the kit's workers do not share places".to_owned()),
            Step::Arrives { .. } => return Err("the kit knows no call that arrives later".to_owned()),
        }
        self.agree(after);
        self.settle().await;
        for (who, consumer) in after.consumers.iter().enumerate().filter(|(_, it)| !it.is_asleep) {
            for it in consumer.running.iter().filter(|it| it.mood == Mood::Runs) {
                self.until("a handler begins", |kit| kit.handlers.run(who, &it.facts[0])).await?;
            }
        }
        Ok(())
    }

    /// Makes a message visible that a consumer has.
    fn duplicate(&mut self, message: usize) {
        let held = self.facts.values().filter(|fact| fact.message == message).max_by_key(|fact| fact.attempt);
        let handle = held.map(|fact| fact.handle.clone()).unwrap_or_default();
        let body = json!({
            "QueueUrl": self.aws.with(|account, _| account.queue_url(names(self.bounds).0)),
            "ReceiptHandle": handle,
            "VisibilityTimeout": 0,
        });
        let request = Request::post("/")
            .header("x-amz-target", "AmazonSQS.ChangeMessageVisibility")
            .header("content-type", "application/x-amz-json-1.0")
            .body(Bytes::from(body.to_string()));
        self.answer(&request.unwrap());
        (self.seen.histories[message].ran_out, self.seen.histories[message].is_copied) = (true, true);
    }

    fn end(&mut self, who: usize, fact: &Fact, says: HandlerEnd) {
        if says == HandlerEnd::Done && self.bounds.consumers[who] == Consumes::Worker {
            self.seen.now = self.aws.elapsed();
            let judged = self.seen.may_take_effect(fact);
            self.keep_violation(judged);
            self.seen.consumer(who).done.insert(fact.message);
        }
        self.seen.histories[fact.message].is_done |= says == HandlerEnd::Done;
        self.handlers.end(who, fact, says);
    }

    /// Copies the state that only the explorer's world has: the faults that are left, and the processes that stand still.
    fn agree(&mut self, world: &World) {
        self.seen.left = world.left;
        for (seen, history) in self.seen.histories.iter_mut().zip(&world.histories) {
            seen.has_lost_letter = history.has_lost_letter;
        }
        for (process, consumer) in self.processes.iter_mut().zip(&world.consumers) {
            process.is_asleep = consumer.is_asleep;
        }
    }

    /// Advances time, and ends the polls that the explorer's world has ended.
    async fn time(&mut self, after: &World) {
        let polls = |kit: &Self, who: usize| {
            let waiting = kit.processes[who].wire.waiting();
            let receives = waiting
                .iter()
                .filter(|it| it.answer.is_none() && asks(&it.request, kit.bounds) == Asks::Receive);
            receives.count()
        };
        let waited: Vec<_> = (0..self.processes.len()).map(|who| polls(self, who)).collect();
        self.pass(after.now.saturating_sub(self.aws.elapsed())).await;
        for (who, waited) in waited.into_iter().enumerate() {
            let consumer = &after.consumers[who];
            let is_old = |it: &&UnderWay| match &it.what {
                SqsRequest::Receive(poll) => it.is_parked() && consumer.began + poll.sent < after.now,
                SqsRequest::Settle { .. } | SqsRequest::Extend { .. } => false,
            };
            let old = consumer.calls.iter().filter(is_old).count();
            for _ in old..waited {
                if let Some(call) = self.find(who, Asks::Receive, &[]) {
                    self.processes[who].wire.answer(call, Response::new("{}".into()));
                }
            }
        }
    }

    /// Lets this much time pass.
    async fn pass(&mut self, time: Duration) {
        if !time.is_zero() {
            advance(time).await;
        }
        self.settle().await;
    }

    /// Returns true if handlers block their threads, so that they cannot be canceled.
    const fn blocks(&self) -> bool {
        self.bounds.deaf > 0
    }

    /// Waits for a moment: by tokio's clock, or for a thread.
    async fn wait(&mut self) {
        if self.blocks() {
            // If no handler begins, this is all the time that a thread needs to begin.
            let _ = self.begins.1.recv_timeout(THREAD);
        } else {
            advance(NUDGE).await;
        }
        self.settle().await;
    }

    /// Waits a little for something that takes longer than in the explorer's world, such as the tries of a call.
    async fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) -> Checked {
        for tries in 0_u32..100 {
            self.settle().await;
            if is_so(self) || self.violation.is_some() {
                return Ok(());
            }
            // The threads of redrive may wait for a processor, on a busy machine for long.
            let _ = self.begins.1.recv_timeout(BREATH * tries.saturating_sub(2));
            self.wait().await;
        }
        Err(format!("in the kit it never comes that {what}"))
    }

    /// Lets everything happen that needs no time.
    async fn settle(&mut self) {
        for _ in 0..ROUNDS {
            for who in 0..self.processes.len() {
                if !self.processes[who].is_asleep {
                    self.poll(who).await;
                }
            }
            self.judge_handlers();
            yield_now().await;
        }
    }

    async fn poll(&mut self, who: usize) {
        while let Some(call) = self.find(who, Asks::Attributes, &[]) {
            let wire = self.processes[who].wire.clone();
            let request = wire.waiting()[call].request.clone();
            let answer = self.answer(&request);
            wire.answer(call, answer);
        }
        let Some(run) = &mut self.processes[who].run else { return };
        let polled =
            poll_fn(|context| Poll::Ready(catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(context)))));
        match polled.await {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(response)) => {
                self.processes[who].run = None;
                let judged = self.ended(who, &response);
                self.keep_violation(judged);
            }
            Err(panic) => {
                self.processes[who].run = None;
                self.keep_violation(Err(format!("a panic: {}", text(&*panic))));
            }
        }
    }

    /// Handles the end of a worker or the response of a function.
    fn ended(&mut self, who: usize, response: &[u8]) -> Checked {
        let Some(delivery) = self.processes[who].delivery.take() else {
            self.replace(who);
            return Ok(());
        };
        self.seen.now = self.aws.elapsed();
        let text = String::from_utf8_lossy(response);
        for fact in self.facts_of(&delivery) {
            if !text.contains(&self.seen.ids[fact.message]) {
                self.seen.may_settle(&fact, "deleted")?;
            }
        }
        self.aws.with(|account, now| account.settle(&delivery, response, now))?;
        self.note_events()
    }

    fn keep_violation(&mut self, judged: Checked) {
        if let Err(violation) = judged {
            self.violation.get_or_insert(violation);
        }
    }

    /// Judges the handlers that have begun, each beside those that run.
    fn judge_handlers(&mut self) {
        let begun = self.handlers.with(<[_]>::len);
        for number in std::mem::replace(&mut self.noted.1, begun)..begun {
            let deliveries = |it: &puppet::Begun| (it.who, it.message, it.attempt);
            let (it, running) = self.handlers.with(|begun| {
                let running = begun[..number].iter().filter(|it| it.runs()).map(deliveries);
                (deliveries(&begun[number]), running.collect::<Vec<_>>())
            });
            for who in 0..self.processes.len() {
                let of_process = running.iter().filter(|it| it.0 == who);
                let running = of_process.map(|&(_, message, attempt)| Running {
                    batch: BatchKey(0),
                    lanes: std::iter::once(0..1).collect(),
                    facts: vec![self.fact(message, attempt)],
                    mood: Mood::Runs,
                    began: Time::ZERO,
                    is_trial: false,
                });
                let running = running.collect();
                self.seen.consumer(who).running = running;
            }
            let (who, message, attempt) = it;
            let fact = self.fact(message, attempt);
            let batch = self.batches.iter().rev().find(|batch| batch.contains(&fact)).cloned();
            self.seen.consumer(who).batches.insert(BatchKey(0), batch.unwrap_or_default());
            self.seen.now = self.aws.elapsed();
            let judged = self.seen.may_begin(who, BatchKey(0), &fact, &[]);
            self.keep_violation(judged);
        }
    }

    fn fact(&self, message: usize, attempt: u32) -> Arc<Fact> {
        let fact = self.facts.values().find(|it| (it.message, it.attempt) == (message, attempt));
        Arc::clone(fact.expect("a handler begins with what was received"))
    }

    /// Returns a delivery of a message, from the fields of a Lambda record or of an answer of SQS.
    fn received(&mut self, body: &Value, handle: &Value, count: &Value) -> Arc<Fact> {
        let message = body.as_str().and_then(|body| body[1..].parse::<usize>().ok()).unwrap() - 1;
        let (handle, attempt) = (handle.as_str().unwrap(), count.as_str().and_then(|it| it.parse().ok()));
        let group = self.bounds.is_fifo.then_some(self.bounds.groups[message]);
        let fact = Fact { message, attempt: attempt.unwrap(), group, handle: handle.to_owned() };
        let known = self.facts.entry(handle.to_owned()).or_insert_with(|| Arc::new(fact));
        Arc::clone(known)
    }

    /// Notes messages that arrived together, and checks that the explorer's world has the same.
    fn came(&mut self, facts: Vec<Arc<Fact>>, (before, after): (&World, &World)) -> Checked {
        let deliveries =
            |world: &World| world.histories.iter().map(|history| history.deliveries).collect::<Vec<_>>();
        let (before, after) = (deliveries(before), deliveries(after));
        let expected: Vec<_> = (0..before.len()).filter(|&it| after[it] > before[it]).collect();
        let mut came: Vec<_> = facts.iter().map(|fact| fact.message).collect();
        came.sort_unstable();
        if came != expected {
            return Err(format!("{came:?} come instead of {expected:?}, counted from 0"));
        }
        for fact in facts {
            let same = |batch: &&mut Vec<Arc<Fact>>| fact.group.is_some() && batch[0].group == fact.group;
            match self.batches.last_mut().filter(same) {
                Some(batch) => batch.push(fact),
                None => self.batches.push(vec![fact]),
            }
        }
        Ok(())
    }

    /// Lets the mapping hand messages to a sandbox.
    async fn deliver(&mut self, who: usize, most: usize, worlds: (&World, &World)) -> Checked {
        let source = names(self.bounds).0;
        let is_there =
            |kit: &Self| kit.aws.with(|account, now| account.counts(source, now)).unwrap().visible > 0;
        self.until("a message can be received", is_there).await?;
        let delivery = self.aws.with(|account, now| account.deliver(source, most, now));
        let delivery = delivery.map_err(|it| it.to_string())?;
        let judged = self.note_events();
        self.keep_violation(judged);
        let Some(delivery) = delivery else { return self.came(Vec::new(), worlds) };
        let facts = self.facts_of(&delivery);
        self.came(facts, worlds)?;
        let event = serde_json::from_slice(delivery.event()).map_err(|it| it.to_string())?;
        let (consumer, deadline) = (self.processes[who].consumer.clone(), Instant::now() + DEADLINE);
        self.processes[who].delivery = Some(delivery);
        self.processes[who].run = Some(Box::pin(async move {
            let response = consumer.handle(event, deadline).await.unwrap();
            serde_json::to_vec(&response).unwrap()
        }));
        Ok(())
    }

    fn facts_of(&mut self, delivery: &Delivery) -> Vec<Arc<Fact>> {
        let event: Value = serde_json::from_slice(delivery.event()).unwrap();
        let records = event["Records"].as_array().cloned().unwrap_or_default();
        let fact = |it: Value| {
            self.received(&it["body"], &it["receiptHandle"], &it["attributes"]["ApproximateReceiveCount"])
        };
        records.into_iter().map(fact).collect()
    }

    /// Lets a call meet its fate, with all its tries.
    async fn call(
        &mut self,
        who: usize,
        UnderWay { what, .. }: &UnderWay,
        most: Option<usize>,
        goes: CallFate,
        worlds: (&World, &World),
    ) -> Checked {
        let (asks, facts) = match what {
            SqsRequest::Settle { call, facts } => (Asks::Settle(call.kind), facts.as_slice()),
            SqsRequest::Extend { facts, .. } => (Asks::Extend, facts.as_slice()),
            SqsRequest::Receive(_) => (Asks::Receive, &[][..]),
        };
        // Its caller has stopped waiting by itself, or nothing happens yet.
        if matches!(goes, CallFate::TimedOut | CallFate::Later) {
            return Ok(());
        }
        let wire = self.processes[who].wire.clone();
        if goes == CallFate::Answered {
            let call =
                wire.waiting().iter().position(|it| it.answer.is_some() && self.is_for(it, asks, facts));
            let call = call.ok_or("nobody waits for the answer")?;
            let answer = wire.waiting()[call].answer.take();
            answer.into_iter().for_each(|answer| wire.answer(call, answer));
            return Ok(());
        }
        self.until("SQS is called", |kit| kit.find(who, asks, facts).is_some()).await?;
        let Some(call) = self.find(who, asks, facts) else { return Ok(()) };
        if goes == CallFate::Lost {
            wire.lose(call);
        } else {
            let request = wire.waiting()[call].request.clone();
            let skipped = if let CallFate::Without(entry) = goes { Some(usize::from(entry)) } else { None };
            let answer = self.act(who, &changed(&request, most, skipped), worlds)?;
            match goes {
                CallFate::AnsweredLater => wire.waiting()[call].answer = Some(answer),
                CallFate::Unanswered => wire.lose(call),
                _ => wire.answer(call, answer),
            }
        }
        let is_tried_again = matches!(goes, CallFate::Lost | CallFate::Unanswered | CallFate::Without(_));
        if is_tried_again && matches!(asks, Asks::Settle(_)) {
            self.agree(worlds.1);
            for _ in 0..2 {
                self.settle().await;
                self.pass(PAUSE).await;
                if let Some(call) = self.find(who, asks, facts) {
                    wire.lose(call);
                }
            }
        }
        Ok(())
    }

    /// Finds a call of a process with this request, for these messages or some of them, that SQS has not answered.
    fn find(&self, who: usize, asks: Asks, facts: &[Arc<Fact>]) -> Option<usize> {
        let waiting = self.processes[who].wire.waiting();
        waiting.iter().position(|it| it.answer.is_none() && self.is_for(it, asks, facts))
    }

    fn is_for(&self, call: &Waiting, asks: Asks, facts: &[Arc<Fact>]) -> bool {
        let is_meant = |of: &Arc<Fact>| facts.iter().any(|fact| fact.message == of.message);
        asks == self::asks(&call.request, self.bounds) && self.messages(&call.request).iter().all(is_meant)
    }

    /// Returns the messages of the entries of a call.
    fn messages(&self, request: &Request<Bytes>) -> Vec<Arc<Fact>> {
        let fact = |entry: &Value| match entry["MessageBody"].as_str() {
            Some(body) => {
                let of = self.facts.values().filter(|fact| body == format!("m{}", fact.message + 1));
                of.max_by_key(|fact| fact.attempt).cloned()
            }
            None => self.facts.get(entry["ReceiptHandle"].as_str()?).cloned(),
        };
        entries(request).iter().filter_map(fact).collect()
    }

    /// Lets SQS carry out a call.
    fn act(
        &mut self,
        who: usize,
        request: &Request<Bytes>,
        worlds: (&World, &World),
    ) -> Checked<Response<Bytes>> {
        let (asks, facts) = (asks(request, self.bounds), self.messages(request));
        let judged = facts.iter().try_for_each(|fact| self.judge_entry(who, asks, fact, &facts));
        self.keep_violation(judged);
        let (sent, answer) = (entries(request), self.answer(request));
        let told: Value = serde_json::from_slice(answer.body()).map_err(|it| it.to_string())?;
        let successful = told["Successful"].as_array().map_or(&[][..], Vec::as_slice);
        for (entry, fact) in sent.iter().zip(&facts) {
            if successful.iter().any(|it| it["Id"] == entry["Id"]) {
                match asks {
                    Asks::Settle(SettleCall::ChangeVisibility) => {
                        let seconds = entry["VisibilityTimeout"].as_u64().unwrap_or_default();
                        self.seen.is_delayed(fact, Duration::from_secs(seconds));
                    }
                    Asks::Extend => {
                        let until = self.seen.now + self.bounds.visibility;
                        self.seen.histories[fact.message].leases[fact.attempt as usize] = until;
                    }
                    Asks::Settle(_) | Asks::Receive | Asks::Attributes => {}
                }
            }
        }
        if asks == Asks::Receive {
            let messages = told["Messages"].as_array().cloned().unwrap_or_default();
            let fact = |it: Value| {
                self.received(&it["Body"], &it["ReceiptHandle"], &it["Attributes"]["ApproximateReceiveCount"])
            };
            let facts = messages.into_iter().map(fact).collect();
            self.came(facts, worlds)?;
        }
        Ok(answer)
    }

    fn judge_entry(&self, who: usize, asks: Asks, fact: &Fact, together: &[Arc<Fact>]) -> Checked {
        match asks {
            Asks::Settle(SettleCall::Delete) => self.seen.may_settle(fact, "deleted"),
            Asks::Settle(SettleCall::ChangeVisibility) => self.seen.may_settle(fact, "delayed"),
            Asks::Settle(SettleCall::DeadLetter) => self.seen.may_write(who, fact, together),
            Asks::Extend => self.seen.may_extend(fact),
            Asks::Receive | Asks::Attributes => Ok(()),
        }
    }

    /// Returns the kit's answer of SQS.
    fn answer(&mut self, request: &Request<Bytes>) -> Response<Bytes> {
        self.seen.now = self.aws.elapsed();
        let answer = self.aws.with(|account, now| account.answer(request, now));
        let judged = self.note_events();
        self.keep_violation(judged);
        answer
    }

    /// Notes the events of the queues.
    fn note_events(&mut self) -> Checked {
        let (source, dead) = names(self.bounds);
        self.seen.now = self.aws.elapsed();
        let events = self.aws.events();
        let noted = std::mem::replace(&mut self.noted.0, events.len());
        for (_, event) in &events[noted..] {
            match event {
                QueueEvent::Received { message_id, receive_count, timeout, .. } => {
                    let message = self.seen.message_of(message_id);
                    self.seen.comes_back(message)?;
                    let until = self.seen.now + *timeout;
                    let history = &mut self.seen.histories[message];
                    history.deliveries += 1;
                    history.leases[*receive_count as usize] = until;
                }
                QueueEvent::Deleted { queue, message_id } if queue == source => {
                    self.seen.is_deleted(self.seen.message_of(message_id))?;
                }
                QueueEvent::Moved { message_id, .. } => {
                    let message = self.seen.message_of(message_id);
                    self.seen.comes_back(message)?;
                    self.seen.histories[message].is_gone = true;
                    self.seen.is_in_dead_letter_queue(message)?;
                }
                QueueEvent::Sent { queue, attributes, .. } if queue == dead => {
                    let note = format!("{attributes:?}");
                    let message = self.seen.ids.iter().position(|id| note.contains(id)).unwrap();
                    self.seen.is_in_dead_letter_queue(message)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn entries(request: &Request<Bytes>) -> Vec<Value> {
    let body: Value = serde_json::from_slice(request.body()).unwrap();
    body["Entries"].as_array().cloned().unwrap_or_default()
}

fn asks(request: &Request<Bytes>, bounds: &Bounds) -> Asks {
    let target = request.headers()["x-amz-target"].to_str().unwrap();
    match target.rsplit('.').next() {
        Some("ReceiveMessage") => Asks::Receive,
        Some("SendMessageBatch") => Asks::Settle(SettleCall::DeadLetter),
        Some("DeleteMessageBatch") => Asks::Settle(SettleCall::Delete),
        Some("ChangeMessageVisibilityBatch") => {
            // No delay of a message is as long.
            let is_extension = |entry: &Value| entry["VisibilityTimeout"] == bounds.visibility.as_secs();
            if entries(request).iter().all(is_extension) {
                Asks::Extend
            } else {
                Asks::Settle(SettleCall::ChangeVisibility)
            }
        }
        _ => Asks::Attributes,
    }
}

/// Changes a receive to wait for no messages and to return at most this many, and removes this entry from a call.
fn changed(request: &Request<Bytes>, most: Option<usize>, skipped: Option<usize>) -> Request<Bytes> {
    let mut body: Value = serde_json::from_slice(request.body()).unwrap();
    if let Some(most) = most {
        (body["MaxNumberOfMessages"], body["WaitTimeSeconds"]) = (most.into(), 0.into());
    }
    if let (Some(skipped), Some(entries)) = (skipped, body["Entries"].as_array_mut()) {
        entries.remove(skipped);
    }
    let mut request = request.clone();
    *request.body_mut() = body.to_string().into();
    request
}
