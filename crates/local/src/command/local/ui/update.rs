//! The update for a reader: everything that changed after its last update. Pure.

use serde::Serialize;
use serde_json::Value;

use super::message::Message;
use super::model::{Alarm, Invocation, Model, Notice};
use super::samples::Sample;
use super::shared::Clock;

/// Most rows in one update. The next update continues.
const MOST_ROWS: usize = 1_000;

#[derive(Debug, Serialize)]
pub(super) struct Update<'a> {
    /// The version up to which the reader knows everything. A reader sends it back to get the next update.
    pub(super) version: u64,
    /// True if the next update is ready.
    pub(super) more: bool,
    /// Set in the first update of a run. The reader then drops its old rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) setup: Option<&'a Value>,
    pub(super) clock: Clock,
    /// The oldest message and the oldest invocation that are still kept.
    first: (u64, u64),
    messages: Vec<&'a Message>,
    invocations: Vec<&'a Invocation>,
    alarms: Vec<&'a Alarm>,
    notices: Vec<&'a Notice>,
    samples: Vec<&'a Sample>,
    /// The totals, once the run is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<&'a Value>,
}

impl<'a> Update<'a> {
    pub(super) fn new(model: &'a Model, after: u64, clock: Clock) -> Self {
        let rows: Vec<_> = model.messages.changed(after, model.version).take(MOST_ROWS + 1).collect();
        let more = rows.len() > MOST_ROWS;
        let version = if more { rows[MOST_ROWS - 1].0 } else { model.version };
        let new = |at: u64| at > after && at <= version;
        Self {
            version,
            more,
            setup: None,
            clock,
            first: (model.messages.first(), model.invocations.first()),
            messages: rows.into_iter().take(MOST_ROWS).map(|(_, message)| message).collect(),
            invocations: model
                .invocations
                .changed(after, version)
                .map(|(_, invocation)| invocation)
                .collect(),
            alarms: model.alarms.values().filter(|(at, _)| new(*at)).map(|(_, alarm)| alarm).collect(),
            notices: model.notices.changed(after, version).map(|(_, notice)| notice).collect(),
            samples: model.samples.changed(after, version).collect(),
            ended: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Event, EventKind};

    use super::*;

    #[test]
    fn a_long_history_comes_in_pieces_without_gap_or_overlap() {
        let mut model = Model::new(["orders".to_owned()].into(), std::iter::empty());
        for number in 0..2_500 {
            let kind = EventKind::Sent { queue: "orders".into(), message_id: format!("m{number}") };
            model.apply(&Event { at: Duration::ZERO, kind }, None);
        }
        let (mut after, mut seen, mut pieces) = (0, Vec::new(), Vec::new());
        loop {
            let update = Update::new(&model, after, Clock::default());
            seen.extend(update.messages.iter().map(|message| message.number));
            pieces.push(update.messages.len());
            after = update.version;
            if !update.more {
                break;
            }
        }
        assert_eq!((pieces, after), (vec![1_000, 1_000, 500], model.version));
        assert_eq!(seen, (1..=2_500).collect::<Vec<_>>());
    }
}
