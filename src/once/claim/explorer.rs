//! Explores two messages with one key in two processes: every order of claims, ends, crashes, late writes, lost answers and clocks
//! that differ, with the production rules for deliveries and for records. It finds the shortest examples first.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redrive_engine::{Disposition, Outcome};

use super::{MARGIN, Next, TimeLeft, after_change, after_claim, change_after};
use crate::failure::Failure;
use crate::once::{Change, Claim, Claimed, End, Record};

/// The time limit of a handler, in seconds.
const DEADLINE: u64 = 10;
/// Shorter than a lease, so that messages return while the key is taken.
const VISIBILITY: u64 = 12;
const KEEP: Duration = Duration::from_secs(10_000);

/// The bounds of an exploration.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The deliveries of each message.
    deliveries: &'static [u8],
    /// The offset of each process's clock, in seconds.
    skews: [i64; 2],
    crashes: u8,
    /// The number of unanswered calls to the store, which may act or not.
    losses: u8,
    /// The number of handlers that continue after their deadlines.
    deaf: u8,
    /// The number of renewals of a claim.
    renewals: u8,
    rejects: bool,
    /// True if a change needs the token of the record.
    is_fenced: bool,
    margin: Duration,
}

const BOUNDS: Bounds = Bounds {
    deliveries: &[2, 1],
    skews: [0, 0],
    crashes: 0,
    losses: 0,
    deaf: 0,
    renewals: 0,
    rejects: false,
    is_fenced: true,
    margin: MARGIN,
};

#[derive(Debug, Clone)]
struct World {
    now: u64,
    record: Option<Record>,
    messages: Vec<Message>,
    processes: [Process; 2],
    /// Changes under way that no process waits for, and the clock that they were sent by.
    late: Vec<(usize, u64, Change)>,
    next_token: u64,
    /// Tokens whose handlers have returned `Ok`.
    done: Vec<u64>,
    crashes: u8,
    losses: u8,
    deaf: u8,
    renewals: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Message {
    Waiting {
        at: u64,
        left: u8,
    },
    /// A process has it.
    InHand {
        left: u8,
    },
    /// It is deleted, in the dead-letter queue, or has no delivery left.
    Gone,
}

/// The work of a process on the delivery with this token.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Process {
    Idle,
    Claiming {
        message: usize,
        token: u64,
        sent: u64,
        answer: Option<Claimed>,
    },
    /// `message` is `None` once the handler was given up.
    Running {
        message: Option<usize>,
        token: u64,
        until: u64,
        renewal: Option<(u64, Option<bool>)>,
    },
    Recording {
        message: usize,
        token: u64,
        ended: Ended,
        change: Change,
        answer: Option<bool>,
    },
}

/// The end of a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ended {
    Done,
    Failed,
    Rejected,
    Canceled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Receive {
        process: usize,
        message: usize,
    },
    /// The call of a process acts in the store.
    Acts(usize),
    Answered(usize),
    Lost(usize),
    /// A process that claims the key or records an end gets no answer, and tries again.
    TriesAgain(usize),
    Ends(usize, Ended),
    /// The batch ends without the handler, which continues.
    GivesUp(usize),
    Renews(usize),
    Crashes(usize),
    ActsLate(usize),
    TimePasses,
}

impl Ended {
    fn outcome(self) -> Outcome {
        match self {
            Self::Done => Outcome::Done,
            Self::Failed => Outcome::Failed(Failure::from("down").reduce(None)),
            Self::Rejected => Outcome::Failed(Failure::reject("no").reduce(None)),
            Self::Canceled => Outcome::TimedOut,
        }
    }
}

impl World {
    fn new(bounds: &Bounds) -> Self {
        let waiting = |left: &u8| Message::Waiting { at: 0, left: *left };
        Self {
            now: 100,
            record: None,
            messages: bounds.deliveries.iter().map(waiting).collect(),
            processes: [Process::Idle, Process::Idle],
            late: Vec::new(),
            next_token: 0,
            done: Vec::new(),
            crashes: bounds.crashes,
            losses: bounds.losses,
            deaf: bounds.deaf,
            renewals: bounds.renewals,
        }
    }

    fn clock(&self, bounds: &Bounds, process: usize) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.now.strict_add_signed(bounds.skews[process]))
    }

    /// A number for a state. Equal states have equal ones: times count from now, and tokens have no names.
    fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut tokens = Vec::new();
        let mut name = |token: u64| {
            let known = tokens.iter().position(|it| *it == token);
            let place = known.unwrap_or_else(|| {
                tokens.push(token);
                tokens.len() - 1
            });
            (place, self.done.contains(&token))
        };
        let from_now = |at: u64| at.saturating_sub(self.now);
        if let Some(record) = &self.record {
            let until = record.lease_until.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            (record.token.parse().ok().map(&mut name), &record.end).hash(&mut hasher);
            (until + 20).saturating_sub(self.now).hash(&mut hasher);
        }
        for message in &self.messages {
            match message {
                Message::Waiting { at, left } => (0, from_now(*at), *left).hash(&mut hasher),
                Message::InHand { left } => (1, *left).hash(&mut hasher),
                Message::Gone => 2.hash(&mut hasher),
            }
        }
        for process in &self.processes {
            match process {
                Process::Idle => 0.hash(&mut hasher),
                Process::Claiming { message, token, sent, answer } => {
                    (1, message, name(*token), from_now(sent + DEADLINE), answer).hash(&mut hasher);
                }
                Process::Running { message, token, until, renewal } => {
                    let renewal = renewal.map(|(sent, answer)| (from_now(sent + DEADLINE), answer));
                    (2, message, name(*token), from_now(*until), renewal).hash(&mut hasher);
                }
                Process::Recording { message, token, ended, change, answer } => {
                    (3, message, name(*token), ended, change, answer).hash(&mut hasher);
                }
            }
        }
        for (process, token, change) in &self.late {
            (process, name(*token), change).hash(&mut hasher);
        }
        (self.crashes, self.losses, self.deaf, self.renewals).hash(&mut hasher);
        hasher.finish()
    }

    fn is_over(&self) -> bool {
        self.messages.iter().all(|message| *message == Message::Gone)
            && self.processes.iter().all(|process| *process == Process::Idle)
            && self.late.is_empty()
    }

    fn steps(&self, bounds: &Bounds) -> Vec<Step> {
        let mut steps = Vec::new();
        for (at, process) in self.processes.iter().enumerate() {
            match process {
                Process::Idle => {
                    for (message, it) in self.messages.iter().enumerate() {
                        if matches!(it, Message::Waiting { at, .. } if *at <= self.now) {
                            steps.push(Step::Receive { process: at, message });
                        }
                    }
                    continue;
                }
                Process::Claiming { answer: None, .. } | Process::Recording { answer: None, .. } => {
                    steps.push(Step::Acts(at));
                    if self.losses > 0 {
                        steps.push(Step::Lost(at));
                    }
                }
                Process::Claiming { .. } | Process::Recording { .. } => {
                    steps.push(Step::Answered(at));
                    if self.losses > 0 {
                        steps.push(Step::Lost(at));
                    }
                }
                Process::Running { message, until, renewal, .. } => {
                    let ends =
                        if message.is_some() && self.now >= *until { Ended::Canceled } else { Ended::Done };
                    steps.push(Step::Ends(at, ends));
                    if ends == Ended::Done {
                        steps.push(Step::Ends(at, Ended::Failed));
                        if bounds.rejects {
                            steps.push(Step::Ends(at, Ended::Rejected));
                        }
                    }
                    if message.is_some() && self.now >= *until && self.deaf > 0 {
                        steps.push(Step::GivesUp(at));
                    }
                    match renewal {
                        None if self.renewals > 0 && message.is_some() && self.now < *until => {
                            steps.push(Step::Renews(at));
                        }
                        None => {}
                        Some((_, None)) => steps.push(Step::Acts(at)),
                        Some((_, Some(_))) => steps.push(Step::Answered(at)),
                    }
                }
            }
            let records_end = matches!(process, Process::Recording { change: Change::End { .. }, .. });
            if records_end || matches!(process, Process::Claiming { answer: Some(_), .. }) {
                steps.extend((self.losses > 0).then_some(Step::TriesAgain(at)));
            }
            if records_end {
                steps.extend((self.renewals > 0).then_some(Step::Renews(at)));
            }
            if self.crashes > 0 {
                steps.push(Step::Crashes(at));
            }
        }
        steps.extend((0..self.late.len()).map(Step::ActsLate));
        if self.next_time(bounds).is_some() {
            steps.push(Step::TimePasses);
        }
        steps
    }

    /// Returns the next time at which another step becomes possible.
    fn next_time(&self, bounds: &Bounds) -> Option<u64> {
        let visible = self.messages.iter().filter_map(|message| match message {
            Message::Waiting { at, .. } => Some(*at),
            Message::InHand { .. } | Message::Gone => None,
        });
        let deadlines = self.processes.iter().filter_map(|process| match process {
            Process::Running { until, .. } => Some(*until),
            Process::Idle | Process::Claiming { .. } | Process::Recording { .. } => None,
        });
        let leases = self.record.iter().filter(|record| record.end.is_none()).flat_map(|record| {
            let until = record.lease_until.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            bounds.skews.map(|skew| until.strict_sub_signed(skew))
        });
        visible.chain(deadlines).chain(leases).filter(|at| *at > self.now).min()
    }

    fn take(&mut self, bounds: &Bounds, step: Step) -> Result<(), String> {
        match step {
            Step::TimePasses => self.now = self.next_time(bounds).unwrap_or(self.now),
            Step::Receive { process, message } => {
                let Message::Waiting { left, .. } = self.messages[message] else { return Ok(()) };
                self.messages[message] = Message::InHand { left: left - 1 };
                let token = self.next_token;
                self.next_token += 1;
                self.processes[process] = Process::Claiming { message, token, sent: self.now, answer: None };
            }
            Step::Acts(at) => self.acts(bounds, at)?,
            Step::Answered(at) => self.answered(bounds, at)?,
            Step::Lost(at) => {
                self.losses -= 1;
                match self.processes[at].clone() {
                    Process::Claiming { message, .. } => {
                        let next = after_claim(Err("lost".to_owned()), None, false, time_left(0));
                        self.follow(bounds, at, message, 0, 0, next)?;
                    }
                    Process::Recording { message, token, ended, change, answer } => {
                        if answer.is_none() {
                            self.late.push((at, token, change));
                        }
                        self.over(at, message, &after_change(ended.outcome(), false));
                    }
                    Process::Idle | Process::Running { .. } => {}
                }
            }
            Step::TriesAgain(at) => {
                self.losses -= 1;
                match &mut self.processes[at] {
                    Process::Claiming { answer, .. } => *answer = None,
                    Process::Recording { token, change, answer, .. } => {
                        if answer.take().is_none() {
                            self.late.push((at, *token, change.clone()));
                        }
                    }
                    Process::Idle | Process::Running { .. } => {}
                }
            }
            Step::Ends(at, ended) => {
                let Process::Running { message, token, renewal, .. } = self.processes[at].clone() else {
                    return Ok(());
                };
                if ended == Ended::Done {
                    self.done.push(token);
                }
                if matches!(renewal, Some((_, None))) {
                    self.late.push((at, token, Change::Renew(self.lease(bounds, DEADLINE))));
                }
                let change = change_after(&ended.outcome(), KEEP).ok_or("nothing is recorded")?;
                match message {
                    Some(message) => {
                        self.processes[at] =
                            Process::Recording { message, token, ended, change, answer: None };
                    }
                    None => {
                        self.late.push((at, token, change));
                        self.processes[at] = Process::Idle;
                    }
                }
            }
            Step::GivesUp(at) => {
                self.deaf -= 1;
                if let Process::Running { message, .. } = &mut self.processes[at]
                    && let Some(message) = message.take()
                {
                    self.returns(message, VISIBILITY - DEADLINE);
                }
            }
            Step::Renews(at) => {
                self.renewals -= 1;
                let (now, lease) = (self.now, self.lease(bounds, DEADLINE));
                match &mut self.processes[at] {
                    Process::Running { renewal, .. } => *renewal = Some((now, None)),
                    // The renewals of a key whose end is not recorded yet.
                    Process::Recording { token, .. } => {
                        self.late.push((at, *token, Change::Renew(lease)));
                    }
                    Process::Idle | Process::Claiming { .. } => {}
                }
            }
            Step::Crashes(at) => {
                self.crashes -= 1;
                match std::mem::replace(&mut self.processes[at], Process::Idle) {
                    Process::Recording { message, token, change, answer, .. } => {
                        if answer.is_none() {
                            self.late.push((at, token, change));
                        }
                        self.returns(message, VISIBILITY);
                    }
                    Process::Claiming { message, .. } | Process::Running { message: Some(message), .. } => {
                        self.returns(message, VISIBILITY);
                    }
                    Process::Running { message: None, .. } | Process::Idle => {}
                }
            }
            Step::ActsLate(at) => {
                let (process, token, change) = self.late.remove(at);
                self.change(bounds, process, token, &change);
            }
        }
        self.late.sort_unstable_by_key(|(process, token, _)| (*process, *token));
        self.check()
    }

    fn lease(&self, bounds: &Bounds, left: u64) -> Duration {
        Duration::from_secs(left) + bounds.margin
    }

    fn acts(&mut self, bounds: &Bounds, at: usize) -> Result<(), String> {
        match self.processes[at].clone() {
            Process::Claiming { token, sent, .. } => {
                let lease = self.lease(bounds, (sent + DEADLINE).saturating_sub(self.now));
                let claim = Claim { lease, keep: KEEP, ..Claim::new("key", token.to_string()) };
                let now = self.clock(bounds, at);
                let claimed = Record::claimed(self.record.as_ref(), &claim, now);
                if claimed == Claimed::Granted {
                    self.record = Some(Record::of(&claim, now));
                }
                if let Process::Claiming { answer, .. } = &mut self.processes[at] {
                    *answer = Some(claimed);
                }
            }
            Process::Recording { token, change, .. } => {
                let is_recorded = self.change(bounds, at, token, &change);
                if let Process::Recording { answer, .. } = &mut self.processes[at] {
                    *answer = Some(is_recorded);
                }
            }
            Process::Running { token, renewal: Some((_, None)), .. } => {
                let renewal = Change::Renew(self.lease(bounds, DEADLINE));
                let is_renewed = self.change(bounds, at, token, &renewal);
                if let Process::Running { renewal: Some((_, answer)), .. } = &mut self.processes[at] {
                    *answer = Some(is_renewed);
                }
            }
            Process::Idle | Process::Running { .. } => return Err("no call is under way".to_owned()),
        }
        Ok(())
    }

    fn change(&mut self, bounds: &Bounds, at: usize, token: u64, change: &Change) -> bool {
        let now = self.clock(bounds, at);
        let Some(record) = &mut self.record else { return false };
        if bounds.is_fenced {
            return record.change(&token.to_string(), change, now);
        }
        // As a store does that writes without a condition.
        (record.token, record.end) = (token.to_string(), None);
        record.change(&token.to_string(), change, now)
    }

    fn answered(&mut self, bounds: &Bounds, at: usize) -> Result<(), String> {
        match self.processes[at].clone() {
            Process::Claiming { message, token, sent, answer: Some(answer) } => {
                let left = (sent + DEADLINE).saturating_sub(self.now);
                let is_last = self.messages[message] == Message::InHand { left: 0 };
                let next = after_claim(Ok(answer), None, is_last, time_left(left));
                self.follow(bounds, at, message, token, sent, next)?;
            }
            Process::Recording { message, ended, answer: Some(answer), .. } => {
                self.over(at, message, &after_change(ended.outcome(), answer));
            }
            Process::Running { message, token, renewal: Some((sent, Some(is_renewed))), .. } => {
                if is_renewed {
                    self.processes[at] =
                        Process::Running { message, token, until: sent + DEADLINE, renewal: None };
                } else if let Some(message) = message {
                    self.processes[at] = Process::Idle;
                    self.returns(message, VISIBILITY);
                }
            }
            Process::Idle
            | Process::Claiming { .. }
            | Process::Recording { .. }
            | Process::Running { .. } => {}
        }
        Ok(())
    }

    fn follow(
        &mut self,
        bounds: &Bounds,
        at: usize,
        message: usize,
        token: u64,
        sent: u64,
        next: Next,
    ) -> Result<(), String> {
        match next {
            Next::Run => {
                self.may_begin(bounds, at)?;
                let until = sent + DEADLINE;
                self.processes[at] = Process::Running { message: Some(message), token, until, renewal: None };
            }
            // It waits in the process, and claims the key again.
            Next::ClaimAfter(_) | Next::TryAgain(_) => {
                self.processes[at] = Process::Claiming { message, token, sent, answer: None };
            }
            Next::Ended(outcome) => self.over(at, message, &outcome),
        }
        Ok(())
    }

    /// Checks the rules for the start of a handler.
    fn may_begin(&self, bounds: &Bounds, at: usize) -> Result<(), String> {
        for (other, process) in self.processes.iter().enumerate().filter(|(other, _)| *other != at) {
            if let Process::Running { until, .. } = process
                && self.now < *until
            {
                return Err(format!("process {at} runs a handler beside process {other}, whose lease holds"));
            }
        }
        let now = self.clock(bounds, at);
        let is_done = |record: &Record| record.end == Some(End::Done) && record.expires > now;
        match self.record.as_ref().is_some_and(is_done) {
            true => Err(format!("process {at} runs a handler for a key that is recorded as done")),
            false => Ok(()),
        }
    }

    /// Checks the rules for every state.
    fn check(&self) -> Result<(), String> {
        let Some(record) = &self.record else { return Ok(()) };
        let has_done = |token: &String| self.done.iter().any(|done| done.to_string() == *token);
        if record.end == Some(End::Done) && !has_done(&record.token) {
            return Err(format!(
                "the record says that {} is done, and its handler did not return Ok",
                record.token
            ));
        }
        // What was confirmed to a process that waits for the answer is not undone.
        for process in &self.processes {
            if let Process::Recording { token, change: Change::End { end, .. }, answer: Some(true), .. } =
                process
                && (record.end.as_ref() != Some(end) || record.token != token.to_string())
                && *end == End::Done
            {
                return Err(format!("the end of {token} was recorded, and is no longer"));
            }
        }
        Ok(())
    }

    fn over(&mut self, at: usize, message: usize, outcome: &Outcome) {
        self.processes[at] = Process::Idle;
        match outcome {
            Outcome::Failed(summary) => match summary.disposition {
                Disposition::Reject | Disposition::Discard => self.messages[message] = Message::Gone,
                Disposition::Defer(after) => self.returns(message, after.as_secs()),
                Disposition::Retry
                | Disposition::RetryAfter(_)
                | Disposition::Outage
                | Disposition::Malformed => self.returns(message, 2),
            },
            _ if outcome.lets_the_lane_go_on() => self.messages[message] = Message::Gone,
            _ => self.returns(message, 2),
        }
    }

    fn returns(&mut self, message: usize, after: u64) {
        if let Message::InHand { left } = self.messages[message] {
            self.messages[message] = match left {
                0 => Message::Gone,
                left => Message::Waiting { at: self.now + after, left },
            };
        }
    }
}

const fn time_left(seconds: u64) -> TimeLeft {
    let left = Duration::from_secs(seconds);
    TimeLeft { claim: left, message: left, patience: Duration::ZERO }
}

/// Visits all states. The error is the shortest way to a violation, in words.
fn explore(bounds: &Bounds) -> Result<usize, String> {
    let first = World::new(bounds);
    let mut numbers = HashMap::from([(first.print(), 0_usize)]);
    let mut ways: Vec<(usize, Option<Step>)> = vec![(0, None)];
    let mut back: Vec<Vec<usize>> = vec![Vec::new()];
    let (mut next, mut ends) = (VecDeque::from([first]), Vec::new());
    let told = |ways: &[(usize, Option<Step>)], mut from: usize, last: Option<Step>, violation: &str| {
        let mut steps: Vec<_> = last.into_iter().collect();
        while let (before, Some(step)) = ways[from] {
            steps.push(step);
            from = before;
        }
        let (mut world, mut lines) = (World::new(bounds), Vec::new());
        for step in steps.into_iter().rev() {
            lines.push(format!("{:>4} s  {step:?}", world.now - 100));
            let _ = world.take(bounds, step);
        }
        format!("{}\n=> {violation}", lines.join("\n"))
    };
    while let Some(world) = next.pop_front() {
        let from = numbers[&world.print()];
        if world.is_over() {
            ends.push(from);
        }
        for step in world.steps(bounds) {
            let mut after = world.clone();
            if let Err(violation) = after.take(bounds, step) {
                return Err(told(&ways, from, Some(step), &violation));
            }
            let number = ways.len();
            let known = *numbers.entry(after.print()).or_insert(number);
            if known == number {
                ways.push((from, Some(step)));
                back.push(Vec::new());
                next.push_back(after);
            }
            back[known].push(from);
        }
    }
    let mut is_good = vec![false; ways.len()];
    while let Some(state) = ends.pop() {
        if !std::mem::replace(&mut is_good[state], true) {
            ends.extend(&back[state]);
        }
    }
    match is_good.iter().position(|is_good| !is_good) {
        Some(stranded) => Err(told(&ways, stranded, None, "no end can be reached any more")),
        None => Ok(ways.len()),
    }
}

fn holds(bounds: Bounds, at_least: usize) {
    let deliveries = if option_env!("REDRIVE_EXPLORE").is_some() { &[2, 2] } else { bounds.deliveries };
    match explore(&Bounds { deliveries, ..bounds }) {
        Ok(states) => {
            println!("{states} states");
            assert!(states >= at_least, "{states} states");
        }
        Err(example) => panic!("{example}"),
    }
}

fn found(bounds: Bounds, violation: &str) {
    let example = explore(&bounds).expect_err("nothing goes wrong");
    println!("{example}\n");
    assert!(example.ends_with(violation), "{example}");
}

#[test]
fn two_deliveries_of_one_key_whose_calls_are_lost() {
    holds(Bounds { losses: 2, rejects: true, ..BOUNDS }, 1_000);
}

#[test]
fn two_deliveries_of_one_key_whose_processes_crash() {
    holds(Bounds { crashes: 2, ..BOUNDS }, 1_000);
}

#[test]
fn two_deliveries_of_one_key_whose_holders_outlive_their_leases() {
    holds(Bounds { deaf: 2, losses: 1, ..BOUNDS }, 1_000);
    holds(Bounds { deaf: 1, crashes: 1, ..BOUNDS }, 1_000);
}

#[test]
fn two_deliveries_of_one_key_whose_leases_are_renewed() {
    holds(Bounds { renewals: 1, deaf: 1, ..BOUNDS }, 1_000);
}

#[test]
fn two_deliveries_of_one_key_on_machines_whose_clocks_differ() {
    for skews in [[0, 4], [4, 0]] {
        holds(Bounds { skews, deaf: 1, ..BOUNDS }, 1_000);
    }
}

/// As Powertools for TypeScript writes them.
#[test]
fn unconditional_writes_let_a_late_one_overwrite_the_record_of_its_successor() {
    found(Bounds { is_fenced: false, ..BOUNDS }, "recorded as done");
}

#[test]
fn without_a_margin_a_clock_that_is_ahead_ends_the_lease_of_another() {
    found(Bounds { margin: Duration::ZERO, skews: [0, 4], ..BOUNDS }, "whose lease holds");
}
