//! One attempt to disable the function's own event source mapping: which call comes next. Pure.
//!
//! The schedules that enable the mapping exist before it is disabled, so after a crash at any point it is enabled, or will be.
//! The first schedule restores the mapping. It lasts until then, and knows the original concurrency. The second one starts
//! the mapping slowly. Only the process that creates it disables the mapping. Nobody deletes a schedule, because another
//! process may have created one of the same name since.

use std::time::Duration;

/// Time of the wall clock, since 1970.
pub(crate) type Time = Duration;

/// How long a mapping is disabled.
pub(crate) const REST: Duration = Duration::from_secs(5 * 60);
/// How long it then has a low concurrency. Lambda takes a minute or two to enable it.
pub(crate) const SLOW_START: Duration = Duration::from_secs(3 * 60);
/// The lowest concurrency that Lambda allows.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_ScalingConfig.html>
pub(crate) const LOW: i32 = 2;
/// An attempt ends after so long, because the schedules must not run before the mapping is disabled.
const LONGEST: Duration = Duration::from_secs(60);
const MOST_TRIES: u32 = 5;

/// A mapping as Lambda lists it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Mapping {
    pub(crate) uuid: String,
    pub(crate) is_enabled: bool,
    /// What a schedule sets to leave it as it is.
    pub(crate) scaling: Scaling,
}

/// What a schedule does to the maximum concurrency of the mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scaling {
    /// Always for provisioned pollers, which allow no maximum concurrency.
    Unchanged,
    /// `None` removes the limit.
    Limit(Option<i32>),
}

/// A schedule that runs once: it enables the mapping, and deletes itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Schedule {
    pub(crate) name: String,
    pub(crate) uuid: String,
    pub(crate) at: Time,
    pub(crate) scaling: Scaling,
}

/// A call to AWS. The client must neither delay nor repeat it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Read { name: String },
    Find,
    Create(Schedule),
    Update(Schedule),
    Disable { uuid: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Schedule(Schedule),
    /// No schedule has this name.
    Missing,
    /// A schedule of this name exists.
    Conflict,
    Found(Mapping),
    Done,
    /// Another change of the mapping is in progress.
    Busy,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Paused,
    /// Another process pauses the mapping, or somebody has disabled it.
    NotNeeded,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Attempt {
    /// Of the schedule that restores the mapping.
    name: String,
    /// When it began: Lambda freezes a process at any point, and what an answer says may be old.
    began: Time,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    /// First of all, because hundreds of processes do so: Lambda allows 15 calls a second, Scheduler 250 or more.
    /// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html>
    Reading,
    Finding {
        /// The mapping starts slowly after a pause: its restoring is put off.
        put_off: Option<Schedule>,
    },
    Creating(Schedule),
    Updating(Schedule),
    Scheduling {
        restoring: Schedule,
    },
    Disabling {
        uuid: String,
        tries: u32,
    },
    Over(End),
}

impl Attempt {
    pub(crate) fn begin(name: String, now: Time) -> Self {
        Self { name, began: now, state: State::Reading }
    }

    /// The call that is due, or how the attempt ended.
    pub(crate) fn next(&mut self, now: Time) -> Result<Call, End> {
        // A clock that was set back says nothing about the schedules.
        if !(self.began..self.began + LONGEST).contains(&now) && !matches!(self.state, State::Over(_)) {
            self.state = State::Over(End::Failed);
        }
        match &self.state {
            State::Reading => Ok(Call::Read { name: self.name.clone() }),
            State::Finding { .. } => Ok(Call::Find),
            State::Creating(restoring) => Ok(Call::Create(restoring.clone())),
            State::Updating(restoring) => Ok(Call::Update(restoring.clone())),
            State::Scheduling { restoring } => Ok(Call::Create(self.resuming(restoring))),
            State::Disabling { uuid, .. } => Ok(Call::Disable { uuid: uuid.clone() }),
            State::Over(end) => Err(*end),
        }
    }

    pub(crate) fn on(&mut self, answer: Answer) {
        let state = std::mem::replace(&mut self.state, State::Over(End::Failed));
        self.state = match (state, answer) {
            (State::Reading, Answer::Missing) => State::Finding { put_off: None },
            (State::Reading, Answer::Schedule(found)) => {
                let is_slow_start = found.at <= self.began + SLOW_START;
                // An old answer must not replace the concurrency that another process has written since.
                match is_slow_start && found.scaling != Scaling::Unchanged {
                    true => State::Finding { put_off: Some(Schedule { at: self.restores_at(), ..found }) },
                    false => State::Over(End::NotNeeded),
                }
            }
            (State::Finding { put_off }, Answer::Found(mapping)) if mapping.is_enabled => match put_off {
                Some(restoring) => State::Updating(restoring),
                None => State::Creating(self.restoring(mapping)),
            },
            (State::Finding { .. }, Answer::Found(_))
            | (State::Creating(_) | State::Scheduling { .. }, Answer::Conflict) => {
                State::Over(End::NotNeeded)
            }
            (State::Creating(restoring) | State::Updating(restoring), Answer::Done) => {
                State::Scheduling { restoring }
            }
            (State::Scheduling { restoring }, Answer::Done) => {
                State::Disabling { uuid: restoring.uuid, tries: 1 }
            }
            (State::Disabling { .. }, Answer::Done) => State::Over(End::Paused),
            (State::Disabling { uuid, tries }, Answer::Busy) if tries < MOST_TRIES => {
                State::Disabling { uuid, tries: tries + 1 }
            }
            _ => State::Over(End::Failed),
        };
    }

    fn restores_at(&self) -> Time {
        self.began + REST + SLOW_START
    }

    /// Restores the concurrency. It enables the mapping too, because Lambda may have refused the other schedule.
    fn restoring(&self, mapping: Mapping) -> Schedule {
        let scaling = match mapping.scaling {
            // It may be the low concurrency of a pause that is over in a moment.
            Scaling::Limit(Some(LOW)) => Scaling::Unchanged,
            scaling => scaling,
        };
        Schedule { name: self.name.clone(), uuid: mapping.uuid, at: self.restores_at(), scaling }
    }

    fn resuming(&self, restoring: &Schedule) -> Schedule {
        let scaling = match restoring.scaling {
            Scaling::Unchanged => Scaling::Unchanged,
            Scaling::Limit(_) => Scaling::Limit(Some(LOW)),
        };
        let name = format!("{}-resume", self.name);
        Schedule { name, uuid: restoring.uuid.clone(), at: self.began + REST, scaling }
    }
}

#[cfg(test)]
mod explorer;
