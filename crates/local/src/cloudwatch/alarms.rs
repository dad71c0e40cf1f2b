//! All alarms of an account and their history.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::alarm::{Alarm, AlarmRecord, Definition};
use super::{AlarmState, Store};

/// How long an alarm's history is kept, even after the alarm is deleted.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html>
const HISTORY_KEPT: Duration = Duration::from_secs(30 * 86_400);

/// Most items of history that are kept, because calls continue even while time stands still.
const HISTORY_ITEMS: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Alarms {
    alarms: BTreeMap<String, Alarm>,
    history: VecDeque<HistoryItem>,
    changes: Vec<AlarmChange>,
}

/// An alarm's change of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlarmChange {
    pub(crate) name: String,
    pub(crate) state: AlarmState,
    pub(crate) reason: String,
}

#[derive(Debug, Clone)]
pub(crate) struct HistoryItem {
    pub(crate) alarm: String,
    pub(crate) at: SystemTime,
    pub(crate) kind: HistoryKind,
    pub(crate) summary: String,
    /// Details as JSON.
    pub(crate) data: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryKind {
    ConfigurationUpdate,
    StateUpdate,
    Action,
}

impl Alarms {
    /// Returns all alarms, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Alarm> {
        self.alarms.values()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Alarm> {
        self.alarms.get(name)
    }

    /// Returns the history, the latest item first.
    pub(crate) fn history(&self) -> impl DoubleEndedIterator<Item = &HistoryItem> {
        self.history.iter().rev()
    }

    /// Creates an alarm, or replaces its definition. Its state stays until the next evaluation.
    pub(crate) fn put(&mut self, definition: Definition, now: SystemTime) {
        let name = definition.name.clone();
        let verb = match self.alarms.get_mut(&name) {
            Some(alarm) => {
                (alarm.definition, alarm.defined_at) = (definition, now);
                "Update"
            }
            None => {
                self.alarms.insert(name.clone(), Alarm::new(definition, now));
                "Create"
            }
        };
        self.configured(&name, verb, now);
    }

    pub(crate) fn remove(&mut self, name: &str, now: SystemTime) {
        if self.alarms.remove(name).is_some() {
            self.configured(name, "Delete", now);
        }
    }

    /// Enables or disables the alarm's actions.
    pub(crate) fn enable_actions(&mut self, name: &str, enabled: bool, now: SystemTime) {
        let Some(alarm) = self.alarms.get_mut(name) else { return };
        alarm.definition.actions.enabled = enabled;
        self.configured(name, "Update", now);
    }

    /// Sets an alarm's state, which lasts until the next evaluation.
    pub(crate) fn set(&mut self, name: &str, record: AlarmRecord, now: SystemTime) {
        let Some(alarm) = self.alarms.get_mut(name) else { return };
        let before = alarm.enter(record.clone(), now);
        if before.state == record.state {
            return;
        }
        let data = json!({
            "version": "1.0",
            "oldState": state_json(&before),
            "newState": state_json(&record),
        });
        let summary = format!("Alarm updated from {} to {}", before.state, record.state);
        self.remember(name, now, HistoryKind::StateUpdate, summary, &data);
        let AlarmRecord { state, reason, .. } = record;
        self.changes.push(AlarmChange { name: name.to_owned(), state, reason });
    }

    pub(crate) fn evaluate(&mut self, store: &Store, now: SystemTime) {
        let due = self.alarms.values().filter(|alarm| alarm.is_due(now));
        let found: Vec<_> = due
            .filter_map(|alarm| Some((alarm.definition.name.clone(), alarm.evaluate(store, now)?)))
            .collect();
        for (name, record) in found {
            self.set(&name, record, now);
        }
    }

    /// Returns true if no alarm can change by itself any more.
    pub(crate) fn rest(&self, store: &Store, now: SystemTime) -> bool {
        self.iter().all(|alarm| alarm.rests_from(store) <= now)
    }

    /// Returns the shortest time between two evaluations in seconds, or None without alarms.
    pub(crate) fn interval(&self) -> Option<u64> {
        self.iter().map(|alarm| alarm.definition.interval()).min()
    }

    /// Returns the changes of state since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<AlarmChange> {
        std::mem::take(&mut self.changes)
    }

    fn configured(&mut self, name: &str, verb: &str, now: SystemTime) {
        let data = json!({ "version": "1.0", "type": verb });
        let summary = format!("Alarm \"{name}\" {}d", verb.to_lowercase());
        self.remember(name, now, HistoryKind::ConfigurationUpdate, summary, &data);
    }

    fn remember(&mut self, alarm: &str, at: SystemTime, kind: HistoryKind, summary: String, data: &Value) {
        let is_gone = |oldest: &HistoryItem| oldest.at + HISTORY_KEPT < at;
        while self.history.len() >= HISTORY_ITEMS || self.history.front().is_some_and(is_gone) {
            self.history.pop_front();
        }
        let data = data.to_string();
        self.history.push_back(HistoryItem { alarm: alarm.to_owned(), at, kind, summary, data });
    }
}

impl HistoryKind {
    pub(crate) const ALL: [Self; 3] = [Self::ConfigurationUpdate, Self::StateUpdate, Self::Action];

    /// Returns CloudWatch's name for the type of item.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ConfigurationUpdate => "ConfigurationUpdate",
            Self::StateUpdate => "StateUpdate",
            Self::Action => "Action",
        }
    }
}

fn state_json(record: &AlarmRecord) -> Value {
    let mut json = json!({ "stateValue": record.state.name(), "stateReason": record.reason });
    let data = record.data.as_ref().and_then(|data| serde_json::from_str(data).ok());
    if let Some(data) = data {
        json["stateReasonData"] = data;
    }
    json
}

#[cfg(test)]
mod tests {
    use super::super::alarm::testing::definition;
    use super::super::store::moment;
    use super::*;

    #[test]
    fn history_older_than_thirty_days_is_dropped() {
        let mut alarms = Alarms::default();
        alarms.put(definition(1, 1, None), moment(0));
        for day in 0..100 {
            let state = if day % 2 == 0 { AlarmState::Ok } else { AlarmState::Alarm };
            let record = AlarmRecord { state, reason: String::new(), data: None };
            alarms.set("TooMany", record, moment(day * 86_400));
        }
        assert_eq!(alarms.history().count(), 31);
    }
}
