//! Two processes pause again and again: every order of what they, Lambda and the scheduler do, in steps of a minute. Times are
//! kept relative to now, so that the states are finite without an end of time.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::{Answer, Attempt, Call, LONGEST, Mapping, Scaling, Schedule, State, Time};

const STEP: Duration = Duration::from_secs(60);
const NOW: Time = Duration::from_secs(3_600);
/// Schedules run [within a minute](https://docs.aws.amazon.com/scheduler/latest/UserGuide/what-is-scheduler.html).
const LATE: Duration = Duration::from_secs(60);
/// A call acts until then or never.
const IN_FLIGHT: Duration = Duration::from_secs(60);
/// What docs/outages.md promises: the rest and five minutes more.
const NEVER_LONGER: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    original: Option<i32>,
    disabled_since: Option<Time>,
    concurrency: Option<i32>,
    schedules: Vec<Schedule>,
    processes: [Process; 2],
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Process {
    /// Or crashed: the next one begins in the same way.
    Idle,
    /// Between two calls, where Lambda may freeze it.
    Between(Attempt),
    /// Its call was sent then, and has not acted. Without an attempt, it has crashed.
    Calling(Option<Attempt>, Call, Time),
}

/// A machine that is wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    DisablesFirst,
    NeverLate,
}

impl World {
    fn with_concurrency(original: Option<i32>) -> Self {
        let processes = [Process::Idle, Process::Idle];
        Self { original, disabled_since: None, concurrency: original, schedules: Vec::new(), processes }
    }

    fn act(&mut self, call: &Call) -> Answer {
        let place = |name: &str| self.schedules.iter().position(|it| it.name == name);
        match call {
            Call::Find => Answer::Found(Mapping {
                uuid: "m".to_owned(),
                is_enabled: self.disabled_since.is_none(),
                scaling: Scaling::Limit(self.concurrency),
            }),
            Call::Create(schedule) if place(&schedule.name).is_some() => Answer::Conflict,
            Call::Create(schedule) => {
                self.schedules.push(schedule.clone());
                self.schedules.sort_by(|a, b| a.name.cmp(&b.name));
                Answer::Done
            }
            Call::Read { name } => match place(name) {
                Some(place) => Answer::Schedule(self.schedules[place].clone()),
                None => Answer::Missing,
            },
            Call::Update(schedule) => match place(&schedule.name) {
                Some(place) => {
                    self.schedules[place] = schedule.clone();
                    Answer::Done
                }
                None => Answer::Failed,
            },
            Call::Disable { .. } => {
                self.disabled_since.get_or_insert(NOW);
                Answer::Done
            }
        }
    }

    fn run_schedule(&self, place: usize) -> Self {
        let mut next = self.clone();
        let schedule = next.schedules.remove(place);
        next.disabled_since = None;
        if let Scaling::Limit(limit) = schedule.scaling {
            next.concurrency = limit;
        }
        next
    }

    fn later(&self) -> Self {
        // What is older makes no difference.
        let earlier = |time: &mut Time| *time = (*time - STEP).max(NOW - 12 * STEP);
        let mut next = self.clone();
        next.disabled_since.iter_mut().for_each(earlier);
        next.schedules.iter_mut().for_each(|schedule| earlier(&mut schedule.at));
        for process in &mut next.processes {
            if let Process::Between(attempt) | Process::Calling(Some(attempt), ..) = process {
                earlier(&mut attempt.began);
                if let State::Finding { put_off: Some(restoring) }
                | State::Creating(restoring)
                | State::Updating(restoring)
                | State::Scheduling { restoring } = &mut attempt.state
                {
                    earlier(&mut restoring.at);
                }
            }
            if let Process::Calling(attempt, call, sent) = process {
                earlier(sent);
                if let Call::Create(schedule) | Call::Update(schedule) = call {
                    earlier(&mut schedule.at);
                }
                // Whatever the answer, the attempt is over.
                attempt.take_if(|attempt| NOW >= attempt.began + LONGEST);
            }
            if matches!(process, Process::Calling(_, _, sent) if NOW > *sent + IN_FLIGHT) {
                *process = Process::Idle;
            }
        }
        next
    }

    fn with(&self, at: usize, process: Process) -> Self {
        let mut next = self.clone();
        next.processes[at] = process;
        next
    }

    fn steps_of(&self, at: usize, fault: Fault) -> Vec<Self> {
        let mut next = Vec::new();
        match &self.processes[at] {
            Process::Idle => {
                next.push(self.with(at, Process::Between(Attempt::begin("redrive".to_owned(), NOW))))
            }
            Process::Between(attempt) => {
                let mut attempt = attempt.clone();
                let now = if fault == Fault::NeverLate { attempt.began } else { NOW };
                next.push(match attempt.next(now) {
                    Ok(Call::Create(_)) if fault == Fault::DisablesFirst && self.disabled_since.is_none() => {
                        let call = Call::Disable { uuid: "m".to_owned() };
                        self.with(at, Process::Calling(Some(attempt), call, NOW))
                    }
                    Ok(call) => self.with(at, Process::Calling(Some(attempt), call, NOW)),
                    Err(_) => self.with(at, Process::Idle),
                });
                next.push(self.with(at, Process::Idle));
            }
            Process::Calling(attempt, call, sent) => {
                let mut acted = self.clone();
                let answer = acted.act(call);
                next.push(acted.with(at, Process::Idle));
                let Some(attempt) = attempt else { return next };
                next.push(self.with(at, Process::Calling(None, call.clone(), *sent)));
                let mut answers = vec![(&acted, answer), (&acted, Answer::Failed), (self, Answer::Failed)];
                if matches!(call, Call::Disable { .. }) {
                    answers.push((self, Answer::Busy));
                }
                for (world, answer) in answers {
                    let mut attempt = attempt.clone();
                    attempt.on(answer);
                    next.push(world.with(at, Process::Between(attempt)));
                }
            }
        }
        next
    }

    fn steps(&self, fault: Fault) -> Vec<Self> {
        let mut next: Vec<_> = (0..2).flat_map(|at| self.steps_of(at, fault)).collect();
        for (place, schedule) in self.schedules.iter().enumerate().filter(|(_, it)| it.at <= NOW) {
            next.push(self.run_schedule(place));
            // Lambda may refuse it while the mapping changes. Minutes later it does not.
            if schedule.name.ends_with("-resume") {
                let mut refused = self.clone();
                refused.schedules.remove(place);
                next.push(refused);
            }
        }
        if self.schedules.iter().all(|it| NOW < it.at + LATE) {
            next.push(self.later());
        }
        next
    }

    fn check(&self) -> Result<(), String> {
        if self.disabled_since.is_some_and(|since| NOW > since + NEVER_LONGER) {
            return Err(format!("disabled for too long: {self:?}"));
        }
        if self.disabled_since.is_some() && self.schedules.is_empty() {
            return Err(format!("disabled without a schedule: {self:?}"));
        }
        if self.schedules.is_empty() && self.concurrency != self.original {
            return Err(format!("the concurrency is not restored: {self:?}"));
        }
        Ok(())
    }
}

/// How many states there are, and in how many the mapping is disabled.
fn explore(original: Option<i32>, fault: Fault) -> Result<(usize, usize), String> {
    let first = World::with_concurrency(original);
    let (mut seen, mut open, mut disabled) = (HashSet::from([hash(&first)]), vec![first], 0);
    while let Some(world) = open.pop() {
        world.check()?;
        disabled += usize::from(world.disabled_since.is_some());
        for mut next in world.steps(fault) {
            // It does not matter which is which.
            let [a, b] = &next.processes;
            if hash(a) > hash(b) {
                next.processes.swap(0, 1);
            }
            if seen.insert(hash(&next)) {
                open.push(next);
            }
        }
    }
    Ok((seen.len(), disabled))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn a_mapping_is_never_disabled_for_long_whatever_crashes_or_is_lost() {
    for original in [Some(10), Some(2)] {
        let (states, disabled) = explore(original, Fault::None).unwrap();
        println!("{original:?}: {states} states, in {disabled} the mapping is disabled");
        assert!(states > 10_000 && disabled > 1_000);
    }
}

#[test]
fn a_function_that_disables_before_it_schedules_is_found() {
    let found = explore(Some(10), Fault::DisablesFirst).unwrap_err();
    assert!(found.starts_with("disabled without a schedule"), "{found}");
}

#[test]
fn a_function_that_disables_late_is_found() {
    assert!(explore(Some(10), Fault::NeverLate).is_err());
}
