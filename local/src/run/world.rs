//! The state that everything shares: queues, metrics and what has been told of them.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::client_holds::ClientHolds;
use super::message_tracker::MessageTracker;
use super::{Event, EventKind, Totals};
use crate::clock::{ClientClock, Clock};
use crate::cloudformation::CloudFormation;
use crate::cloudwatch::{AlarmChange, CloudWatch};
use crate::lambda::Lambda;
use crate::logs::Logs;
use crate::protocol::AwsError;
use crate::queue::Received;
use crate::runtime_api::FunctionConfig;
use crate::runtime_api::Line;
use crate::sqs::{QueueEvent, Sqs};

/// Shared by the driver, the AWS endpoint and [`Local`](super::Local).
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) clock: Clock,
    started: (SystemTime, Instant),
    state: Mutex<State>,
    changes: watch::Sender<()>,
    idle: watch::Sender<bool>,
}

/// What [`World::act`] works on.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) sqs: Sqs,
    pub(crate) cloudwatch: CloudWatch,
    pub(crate) lambda: Lambda,
    pub(crate) logs: Logs,
    pub(crate) cloudformation: CloudFormation,
    pub(crate) tracker: MessageTracker,
    client_holds: ClientHolds,
    /// The moment at which something is being done.
    now: SystemTime,
    /// Whether something happened that no alarm has been evaluated on.
    pub(crate) unevaluated: bool,
    /// When metrics were last published and alarms evaluated.
    pub(crate) ticked_at: SystemTime,
    /// Whether no tick could change anything until something happens.
    rests: bool,
    changed: bool,
    outbox: Vec<EventKind>,
    /// Gone once the stream has ended.
    events: Option<mpsc::UnboundedSender<Event>>,
}

impl World {
    pub(crate) fn new(clock: Clock, mut state: State) -> (Self, mpsc::UnboundedReceiver<Event>) {
        let (sender, events) = mpsc::unbounded_channel();
        state.events = Some(sender);
        state.ticked_at = clock.now();
        state.find_dead_letter_queues();
        let world = Self {
            started: (clock.now(), Instant::now()),
            clock,
            state: Mutex::new(state),
            changes: watch::Sender::new(()),
            idle: watch::Sender::new(true),
        };
        (world, events)
    }

    /// Does something at the present moment, and tells what came of it.
    pub(crate) fn act<R>(&self, action: impl FnOnce(&mut State, SystemTime) -> R) -> R {
        let mut state = self.state();
        let now = self.clock.now();
        state.now = now;
        state.sqs.advance(now);
        let result = action(&mut state, now);
        if state.rests && !state.cloudwatch.rests(&state.sqs, now) {
            state.end_rest(now);
            self.changes.send_replace(());
        }
        state.tell_queue_events();
        state.tell_alarm_changes();
        self.publish(&mut state, now);
        self.clock.keep_real_until(state.client_holds.last(now));
        if std::mem::take(&mut state.changed) {
            state.unevaluated = state.cloudwatch.has_alarms();
            self.idle.send_replace(false);
            self.changes.send_replace(());
        }
        result
    }

    pub(crate) fn tell(&self, kind: EventKind) {
        self.act(|state, _| state.tell(kind));
    }

    /// A function, or Lambda about it, wrote a line to its log.
    pub(crate) fn log(&self, function: &FunctionConfig, stream: &str, line: Line) {
        self.act(|state, now| {
            let (Line::Own(text) | Line::Platform(text)) = &line;
            state.logs.write(&function.log_group(), stream, text, now);
            let Line::Own(line) = line else { return };
            let clock = ClientClock::showing(SystemTime::now(), now);
            if state.cloudwatch.log_line(&function.name, &line, clock, now) {
                state.change();
            }
            if function.show_output {
                state.tell(EventKind::Output { function: function.name.clone(), line });
            }
        });
    }

    /// Resolves at each change that others than the driver may have to react to.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(crate) fn idle(&self) -> watch::Receiver<bool> {
        self.idle.subscribe()
    }

    /// Says whether everything has come to rest, unless alarms have yet to be evaluated on it.
    pub(crate) fn rest(&self, at_rest: impl FnOnce(&State, SystemTime) -> bool) {
        let state = self.state();
        let idle = !state.unevaluated && at_rest(&state, self.clock.now());
        self.idle.send_if_modified(|present| std::mem::replace(present, idle) != idle);
    }

    /// The alarms have been evaluated, which is final if everything was at rest.
    pub(crate) fn evaluated(&self, at_rest: impl FnOnce(&State, SystemTime) -> bool) {
        let mut state = self.state();
        if at_rest(&state, self.clock.now()) {
            state.unevaluated = false;
        }
    }

    /// Ends the event stream and says what everything came to.
    pub(crate) fn end<'queue>(&self, mapped: impl Iterator<Item = &'queue str>) -> Totals {
        let mut state = self.state();
        let now = self.clock.now();
        state.events = None;
        let left = mapped.map(|queue| state.held(queue, now)).sum();
        let (simulated, real) = self.started;
        state.tracker.totals(real.elapsed(), now.duration_since(simulated).unwrap_or_default(), left)
    }

    /// A moment in simulated time since the start.
    pub(crate) fn since_start(&self, moment: SystemTime) -> Duration {
        moment.duration_since(self.started.0).unwrap_or(Duration::ZERO)
    }

    fn publish(&self, state: &mut State, now: SystemTime) {
        let at = self.since_start(now);
        for kind in std::mem::take(&mut state.outbox) {
            if let Some(events) = &state.events {
                // Nobody has to listen.
                let _ = events.send(Event { at, kind });
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the state")
    }
}

impl State {
    pub(crate) fn new(
        sqs: Sqs,
        cloudwatch: CloudWatch,
        lambda: Lambda,
        logs: Logs,
        cloudformation: CloudFormation,
    ) -> Self {
        Self {
            sqs,
            cloudwatch,
            lambda,
            logs,
            cloudformation,
            tracker: MessageTracker::default(),
            client_holds: ClientHolds::default(),
            now: SystemTime::UNIX_EPOCH,
            unevaluated: false,
            ticked_at: SystemTime::UNIX_EPOCH,
            rests: false,
            changed: false,
            outbox: Vec::new(),
            events: None,
        }
    }

    /// Adds to the event stream.
    pub(crate) fn tell(&mut self, kind: EventKind) {
        self.tell_queue_events();
        self.outbox.push(kind);
    }

    /// Says that something other than a queue has changed.
    pub(crate) fn change(&mut self) {
        self.changed = true;
    }

    /// Receives messages for a mapping, which are told of when they are handed to an invocation.
    pub(crate) fn receive(
        &mut self,
        queue: &str,
        max: usize,
        now: SystemTime,
    ) -> Result<Vec<Received>, AwsError> {
        self.tell_queue_events();
        let received = self.sqs.receive(queue, max, None, now);
        for event in self.sqs.take_events() {
            match event {
                QueueEvent::Received { message_id, receive_count, .. } => {
                    self.changed = true;
                    self.client_holds.end(queue, &message_id);
                    self.tracker.take(&message_id, receive_count, now);
                }
                QueueEvent::Sent { .. }
                | QueueEvent::VisibilityChanged { .. }
                | QueueEvent::Deleted { .. }
                | QueueEvent::Moved { .. }
                | QueueEvent::Expired { .. } => self.tell_queue_event(event),
            }
        }
        received
    }

    /// Deletes messages that the filters of a mapping keep out.
    pub(crate) fn filter_out(&mut self, queue: &str, messages: &[Received], now: SystemTime) {
        self.tell_queue_events();
        for Received { receipt_handle, .. } in messages {
            // If it cannot be deleted any more, it comes back.
            let _ = self.sqs.delete(queue, receipt_handle, now);
            for event in self.sqs.take_events() {
                match event {
                    QueueEvent::Deleted { queue, message_id } => {
                        let event = self.tracker.filter_out(queue, message_id);
                        self.tell(event);
                    }
                    event => self.tell_queue_event(event),
                }
            }
        }
        self.changed = true;
    }

    /// How many messages a queue holds, in whatever state.
    pub(crate) fn held(&self, queue: &str, now: SystemTime) -> usize {
        let counts = self.sqs.counts(queue, now).unwrap_or_default();
        counts.visible + counts.in_flight + counts.delayed
    }

    /// Whether no tick changes anything until something happens.
    pub(crate) fn begin_rest(&mut self) -> bool {
        self.rests = !self.unevaluated && self.cloudwatch.rests(&self.sqs, self.ticked_at);
        self.rests
    }

    /// Something happens now, and until now there was nothing to publish or evaluate.
    pub(crate) fn end_rest(&mut self, now: SystemTime) {
        if std::mem::take(&mut self.rests) {
            self.ticked_at = self.ticked_at.max(self.cloudwatch.pass_over(now));
        }
    }

    /// Looks up again which queues redrive policies name.
    pub(crate) fn find_dead_letter_queues(&mut self) {
        self.tracker.dead_letter_queues(self.sqs.dead_letter_queues());
    }

    /// A purge and the deletion of a queue are no events of their messages.
    pub(crate) fn forget_client_holds(&mut self, now: SystemTime) {
        let in_flight = |queue: &str| self.sqs.counts(queue, now).is_some_and(|counts| counts.in_flight > 0);
        self.client_holds.retain(in_flight);
    }

    fn tell_queue_events(&mut self) {
        for event in self.sqs.take_events() {
            self.tell_queue_event(event);
        }
    }

    fn tell_alarm_changes(&mut self) {
        let changes = self.cloudwatch.take_changes().into_iter();
        let told = |AlarmChange { name, state, reason }| EventKind::Alarm { name, state, reason };
        self.outbox.extend(changes.map(told));
    }

    fn tell_queue_event(&mut self, event: QueueEvent) {
        self.changed = true;
        self.client_holds.note(&event, self.now);
        self.outbox.extend(self.tracker.note(event));
    }
}
