//! The shared world: the clock, the state, and notifications of changes.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::state::WorldState;
use super::{Event, EventKind, Totals};
use crate::account::Account;
use crate::clock::{ClientClock, Clock};
use crate::runtime_api::FunctionConfig;
use crate::runtime_api::LogLine;

/// Shared by the driver, the AWS endpoint and [`Local`](super::Local).
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) clock: Clock,
    started: (SystemTime, Instant),
    state: Mutex<WorldState>,
    changes: watch::Sender<()>,
    idle: watch::Sender<bool>,
}

impl World {
    pub(crate) fn new(clock: Clock, account: Account) -> (Self, mpsc::UnboundedReceiver<Event>) {
        let mut state = WorldState::new(account);
        let (sender, events) = mpsc::unbounded_channel();
        state.events = Some(sender);
        state.account.ticked_at = Some(clock.now());
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

    /// Runs an action at the present moment, and reports its events.
    pub(crate) fn act<R>(&self, action: impl FnOnce(&mut WorldState, SystemTime) -> R) -> R {
        let mut state = self.state();
        let now = self.clock.now();
        state.now = now;
        state.account.sqs.advance(now);
        let result = action(&mut state, now);
        if state.rests && !state.account.rests(now) {
            state.end_rest(now);
            self.changes.send_replace(());
        }
        state.report_queue_events();
        state.report_alarm_changes();
        self.publish(&mut state);
        if std::mem::take(&mut state.changed) {
            state.unevaluated = state.account.cloudwatch.has_alarms();
            self.idle.send_replace(false);
            self.changes.send_replace(());
        }
        // This must come last, because time may then jump to the next event that the driver knows.
        self.clock.keep_real_until(state.busy_until(now));
        result
    }

    pub(crate) fn report(&self, kind: EventKind) {
        self.act(|state, _| state.report(kind));
    }

    /// Records a line that a function, or Lambda about it, wrote to the log.
    pub(crate) fn log(&self, function: &FunctionConfig, stream: &str, line: LogLine) {
        self.act(|state, now| {
            let (LogLine::Own(text) | LogLine::Platform(text)) = &line;
            state.account.logs.write(&function.log_group(), stream, text, now);
            let LogLine::Own(line) = line else { return };
            let clock = ClientClock::showing(SystemTime::now(), now);
            if state.account.cloudwatch.log_line(&function.name, &line, clock, now) {
                state.change();
            }
            if function.show_output {
                state.report(EventKind::Output { function: function.name.clone(), line });
            }
        });
    }

    /// Returns a receiver that resolves at each change to which tasks other than the driver may have to react.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(crate) fn idle(&self) -> watch::Receiver<bool> {
        self.idle.subscribe()
    }

    /// Publishes whether everything is at rest. While alarms have yet to be evaluated, it is not.
    pub(crate) fn rest(&self, at_rest: impl FnOnce(&WorldState, SystemTime) -> bool) {
        let state = self.state();
        let idle = !state.unevaluated && at_rest(&state, self.clock.now());
        self.idle.send_if_modified(|present| std::mem::replace(present, idle) != idle);
    }

    /// Records that the alarms were evaluated, which is final if everything was at rest.
    pub(crate) fn evaluated(&self, at_rest: impl FnOnce(&WorldState, SystemTime) -> bool) {
        let mut state = self.state();
        if at_rest(&state, self.clock.now()) {
            state.unevaluated = false;
        }
    }

    pub(crate) fn end_events(&self) {
        self.state().events = None;
    }

    pub(crate) fn totals<'queue>(&self, mapped: impl Iterator<Item = &'queue str>) -> Totals {
        let (state, now) = (self.state(), self.clock.now());
        let left = mapped.map(|queue| state.held(queue, now)).sum();
        state.messages.totals(self.started.1.elapsed(), self.since_start(now), left)
    }

    /// Converts a moment to simulated time since the start.
    pub(crate) fn since_start(&self, moment: SystemTime) -> Duration {
        moment.duration_since(self.started.0).unwrap_or(Duration::ZERO)
    }

    fn publish(&self, state: &mut WorldState) {
        for (moment, kind) in std::mem::take(&mut state.outbox) {
            let at = self.since_start(moment);
            if let Some(events) = &state.events {
                // The receiver may be gone.
                let _ = events.send(Event { at, kind });
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().expect("nothing panics while it holds the state")
    }
}
