//! The messages of a run that are not settled yet, and which of them go into the next call. Pure: time is an argument.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use redrive_sqs::batch::{Next, Reply};
use redrive_sqs::{LaneMessage, Lanes, MAX_ENTRIES};

use crate::{SendError, Sent};

/// The pause after the first failure. It doubles with each further one, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Pauses end at multiples of this, so that messages that failed at about the same time share a call.
const TICK: Duration = Duration::from_millis(100);

/// The time after a refusal that concerns all messages in which further ones are not tried.
const DENIED_FOR: Duration = Duration::from_secs(5);

/// The result of a message.
pub(crate) type Fate = Result<Sent, SendError>;

/// The answer to an entry of a call.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) reply: Reply<'a>,
    /// The message id if it is confirmed, else the reason in words.
    pub(crate) text: String,
}

/// Times count from any fixed moment.
#[derive(Debug)]
pub(crate) struct Waiting<M> {
    is_fifo: bool,
    /// How long the sender tries to send a message.
    patience: Duration,
    lanes: Lanes,
    messages: BTreeMap<usize, State<M>>,
    /// FIFO groups with a message in flight.
    busy: HashSet<String>,
    /// FIFO groups in which a message was not sent.
    stopped: HashSet<String>,
    /// The maximum number of entries a second, and when the next call may have some.
    rate: Option<f64>,
    next_at: Duration,
    /// True if nothing is tried any more.
    is_stopped: bool,
    /// The reason for which SQS would refuse every call, and until when that is taken for granted.
    denied: Option<(String, Duration)>,
    /// The results by message that nobody has taken yet.
    fates: HashMap<usize, Fate>,
    bytes: usize,
}

#[derive(Debug)]
struct State<M> {
    message: M,
    /// FIFO group.
    group: Option<String>,
    size: usize,
    failures: u32,
    /// Start of the first call.
    since: Option<Duration>,
    due: Duration,
    /// The reason of the last failure.
    reason: String,
    /// True once an answer was lost, so that the queue may have the message.
    unclear: bool,
    /// True if it must be the only entry of its call.
    alone: bool,
}

impl<M> Waiting<M> {
    pub(crate) fn new(is_fifo: bool, patience: Duration, rate: Option<f64>) -> Self {
        // At a low rate, a message waits long for its second try. A FIFO queue would not know it any more.
        let slots = rate.filter(|_| !is_fifo).map(|rate| Duration::from_secs_f64(10.0 / rate));
        let patience = slots.map_or(patience, |slots| patience.max(slots));
        Self {
            is_fifo,
            patience,
            rate,
            next_at: Duration::ZERO,
            is_stopped: false,
            lanes: Lanes::default(),
            messages: BTreeMap::new(),
            busy: HashSet::new(),
            stopped: HashSet::new(),
            denied: None,
            fates: HashMap::new(),
            bytes: 0,
        }
    }

    /// Adds a message, which counts as this many bytes.
    pub(crate) fn add(&mut self, number: usize, group: Option<&str>, size: usize, message: M, now: Duration) {
        let group = group.filter(|_| self.is_fifo).map(str::to_owned);
        if self.is_stopped {
            self.fates.insert(number, Err(SendError::Stopped));
        } else if let Some((why, _)) = self.denied.as_ref().filter(|(_, until)| now < *until) {
            self.fates.insert(number, Err(SendError::Denied(why.clone())));
            self.stopped.extend(group);
        } else if group.as_ref().is_some_and(|group| self.stopped.contains(group)) {
            self.fates.insert(number, Err(SendError::Behind));
        } else {
            self.lanes.push(number, LaneMessage { group: group.clone(), size });
            self.bytes += size;
            let (due, reason) = (Duration::ZERO, String::new());
            let state = State {
                message,
                group,
                size,
                failures: 0,
                since: None,
                due,
                reason,
                unclear: false,
                alone: false,
            };
            self.messages.insert(number, state);
        }
    }

    /// Gives up a message in place of adding it. Those behind it in its group are not sent either.
    pub(crate) fn refuse(&mut self, number: usize, group: Option<&str>, error: SendError) {
        self.fates.insert(number, Err(error));
        self.stopped.extend(group.filter(|_| self.is_fifo).map(str::to_owned));
    }

    /// Records the result of a message in place of adding it.
    #[cfg(feature = "schedules")]
    pub(crate) fn settled(&mut self, number: usize, fate: Fate) {
        self.fates.insert(number, fate);
    }

    /// Returns the number of messages that are not settled, and their bytes.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.messages.len(), self.bytes)
    }

    /// Returns a message that is not settled.
    pub(crate) fn message(&self, number: usize) -> &M {
        &self.messages[&number].message
    }

    /// Takes the result of a message, if there is one.
    pub(crate) fn take(&mut self, number: usize) -> Option<Fate> {
        self.fates.remove(&number)
    }

    /// Returns the numbers of the entries of the next call, in order. Without `flush`, only a full call is due: ten entries, or as many
    /// as fit.
    pub(crate) fn next_call(&mut self, now: Duration, flush: bool) -> Vec<usize> {
        self.give_up(now);
        if now < self.next_at {
            return Vec::new();
        }
        let most = self.rate.map_or(MAX_ENTRIES, |rate| (rate.ceil() as usize).clamp(1, MAX_ENTRIES));
        let (messages, busy) = (&self.messages, &self.busy);
        let is_free = |number: usize, alone: bool| {
            let state = &messages[&number];
            state.alone == alone
                && state.due <= now
                && state.group.as_ref().is_none_or(|group| !busy.contains(group))
        };
        let mut batch = self.lanes.next_batch_of(1, |number| is_free(number, true));
        if batch.is_empty() {
            batch = self.lanes.next_batch_of(most, |number| is_free(number, false));
            let is_full =
                batch.len() == most || self.lanes.waiting().any(|(number, _)| is_free(number, false));
            if !is_full && !flush {
                batch.drain(..).for_each(|(number, message)| self.lanes.push(number, message));
            }
        }
        let numbers: Vec<_> = batch.into_iter().map(|(number, _)| number).collect();
        for number in &numbers {
            let state = self.messages.get_mut(number).expect("it waits");
            state.since.get_or_insert(now);
            self.busy.extend(state.group.clone());
        }
        if let Some(rate) = self.rate {
            self.next_at = now + Duration::from_secs_f64(numbers.len() as f64 / rate);
        }
        numbers
    }

    /// Settles messages whose time is over: nobody has asked for results for a while.
    fn give_up(&mut self, now: Duration) {
        let is_over =
            |number: &usize| self.messages[number].since.is_some_and(|since| self.is_over(since, now));
        let late: Vec<_> = self.lanes.waiting().map(|(number, _)| number).filter(is_over).collect();
        for number in late {
            self.lanes.remove(number);
            if let Some(mut state) = self.messages.remove(&number) {
                let reason = std::mem::take(&mut state.reason);
                self.settle(number, &state, Err(SendError::NotInTime(reason)));
            }
        }
    }

    fn is_over(&self, since: Duration, now: Duration) -> bool {
        since.checked_add(self.patience).is_some_and(|end| end < now)
    }

    /// Returns when the next message is due that waits for another try, or for the rate.
    pub(crate) fn due_at(&self, now: Duration) -> Option<Duration> {
        let waiting = self.lanes.waiting().map(|(number, _)| self.messages[&number].due.max(self.next_at));
        waiting.filter(|due| *due > now).min()
    }

    /// Records the answer to an entry that was in flight. `random` from 0 to 1 spreads the next try.
    pub(crate) fn answered(&mut self, number: usize, answer: Answer<'_>, now: Duration, random: f64) {
        let Some(mut state) = self.messages.remove(&number) else { return };
        if let Some(group) = &state.group {
            self.busy.remove(group);
        }
        let next = answer.reply.next();
        let fate = match next {
            Next::Done => {
                let may_be_twice = state.unclear && !self.is_fifo;
                Ok(Sent {
                    message_id: answer.text,
                    may_be_twice,
                    is_scheduled: false,
                    was_scheduled_before: false,
                })
            }
            Next::Again | Next::Unclear | Next::Alone => {
                state.unclear |= next == Next::Unclear;
                state.alone |= next == Next::Alone;
                let pause = if next == Next::Alone { Duration::ZERO } else { pause(state.failures, random) };
                state.failures += u32::from(next != Next::Alone);
                state.due = next_tick(now + pause);
                let is_over = self.is_over(state.since.unwrap_or(now), state.due);
                if !is_over && !self.is_stopped && self.denied.as_ref().is_none_or(|(_, until)| *until <= now)
                {
                    state.reason = answer.text;
                    self.lanes.push(number, LaneMessage { group: state.group.clone(), size: state.size });
                    self.messages.insert(number, state);
                    return;
                }
                Err(SendError::NotInTime(answer.text))
            }
            Next::Bad => Err(SendError::Refused(answer.text)),
            Next::Denied => {
                self.deny(&answer.text, now);
                Err(SendError::Denied(answer.text))
            }
        };
        self.settle(number, &state, fate);
    }

    /// Settles all messages that wait, because SQS would refuse every call.
    fn deny(&mut self, why: &str, now: Duration) {
        self.denied = Some((why.to_owned(), now + DENIED_FOR));
        self.settle_all_that_wait(|_| SendError::Denied(why.to_owned()));
    }

    /// Settles all messages that wait, and tries nothing any more.
    pub(crate) fn stop_all(&mut self) {
        self.is_stopped = true;
        self.settle_all_that_wait(|state| match state.failures {
            0 => SendError::Stopped,
            _ => SendError::NotInTime(std::mem::take(&mut state.reason)),
        });
    }

    /// Settles a message whose call, or whose body's or schedule's, has no answer.
    pub(crate) fn abandon(&mut self, number: usize) {
        if self.fates.contains_key(&number) {
            return;
        }
        let why = || SendError::NotInTime("sending was stopped before there was an answer".to_owned());
        match self.messages.remove(&number) {
            Some(mut state) => {
                state.unclear = true;
                self.settle(number, &state, Err(why()));
            }
            None => drop(self.fates.insert(number, Err(SendError::Unconfirmed(Box::new(why()))))),
        }
    }

    fn settle_all_that_wait(&mut self, why: impl Fn(&mut State<M>) -> SendError) {
        let waiting: Vec<_> = self.lanes.waiting().map(|(number, _)| number).collect();
        self.lanes = Lanes::default();
        for number in waiting {
            if let Some(mut state) = self.messages.remove(&number) {
                let why = why(&mut state);
                self.settle(number, &state, Err(why));
            }
        }
    }

    fn settle(&mut self, number: usize, state: &State<M>, fate: Fate) {
        self.bytes -= state.size;
        let fate = match fate {
            // A refusal of a later call says nothing of the call whose answer was lost.
            Err(error) if state.unclear => Err(SendError::Unconfirmed(Box::new(error))),
            fate => fate,
        };
        let is_sent = fate.is_ok();
        self.fates.insert(number, fate);
        if let Some(group) = state.group.clone().filter(|_| !is_sent) {
            self.stop(group);
        }
    }

    fn stop(&mut self, group: String) {
        for behind in self.lanes.stop(&group) {
            if let Some(state) = self.messages.remove(&behind) {
                self.bytes -= state.size;
                self.fates.insert(behind, Err(SendError::Behind));
            }
        }
        self.stopped.insert(group);
    }
}

fn pause(failures: u32, random: f64) -> Duration {
    let full = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_PAUSE);
    full.mul_f64(0.5 + random / 2.0)
}

fn next_tick(time: Duration) -> Duration {
    TICK * u32::try_from(time.as_nanos().div_ceil(TICK.as_nanos())).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DONE: Reply<'_> = Reply::Confirmed;
    const AGAIN: Reply<'_> = Reply::Failed { code: "InternalError", sender_fault: false };
    const BAD: Reply<'_> = Reply::Failed { code: "InvalidMessageContents", sender_fault: true };

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn waiting(is_fifo: bool, groups: &[&str]) -> Waiting<()> {
        let mut waiting = Waiting::new(is_fifo, seconds(60), None);
        groups
            .iter()
            .enumerate()
            .for_each(|(number, group)| waiting.add(number, Some(group), 1, (), seconds(0)));
        waiting
    }

    fn answer(waiting: &mut Waiting<()>, number: usize, reply: Reply<'_>, now: Duration) {
        waiting.answered(number, Answer { reply, text: "text".to_owned() }, now, 1.0);
    }

    fn told(waiting: &mut Waiting<()>, number: usize) -> String {
        match waiting.take(number) {
            None => "nothing yet".to_owned(),
            Some(Ok(sent)) if sent.may_be_twice => "sent, perhaps twice".to_owned(),
            Some(Ok(_)) => "sent".to_owned(),
            Some(Err(error)) => error.to_string().split(':').next().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn calls_have_ten_entries_until_the_rest_is_flushed() {
        let mut waiting = waiting(false, &["a"; 13]);
        assert_eq!(waiting.next_call(seconds(0), false), (0..10).collect::<Vec<_>>());
        assert_eq!(waiting.next_call(seconds(0), false), [0; 0]);
        assert_eq!(waiting.next_call(seconds(0), true), [10, 11, 12]);
    }

    #[test]
    fn a_failed_entry_is_sent_again_alone_of_its_call_and_after_a_pause() {
        let mut waiting = waiting(false, &["a"; 3]);
        assert_eq!(waiting.next_call(seconds(0), true), [0, 1, 2]);
        for (number, reply) in [(0, DONE), (1, AGAIN), (2, DONE)] {
            answer(&mut waiting, number, reply, seconds(0));
        }
        assert_eq!([0, 1, 2].map(|number| told(&mut waiting, number)), ["sent", "nothing yet", "sent"]);
        assert_eq!(waiting.next_call(seconds(0), true), [0; 0]);
        assert_eq!(waiting.due_at(seconds(0)), Some(FIRST_PAUSE));
        assert_eq!(waiting.next_call(FIRST_PAUSE, true), [1]);
        answer(&mut waiting, 1, DONE, FIRST_PAUSE);
        assert_eq!((told(&mut waiting, 1).as_str(), waiting.load()), ("sent", (0, 0)));
    }

    /// The answers of nine calls come one after the other, and the pauses are as different as they can be.
    #[test]
    fn messages_that_failed_at_about_the_same_time_share_a_call() {
        let mut waiting = waiting(false, &["a"; 90]);
        let calls: Vec<_> = (0..9).map(|_| waiting.next_call(seconds(0), true)).collect();
        for (at, call) in calls.iter().enumerate() {
            for (place, &number) in call.iter().enumerate() {
                let reply = if place == 0 { AGAIN } else { DONE };
                let (now, random) = (Duration::from_millis(at as u64), at as f64 / 8.0);
                waiting.answered(number, Answer { reply, text: String::new() }, now, random);
            }
        }
        let (mut now, mut again) = (seconds(0), 0);
        while let Some(due) = waiting.due_at(now) {
            now = due;
            while !waiting.next_call(now, true).is_empty() {
                again += 1;
            }
        }
        assert!(again <= 3, "{again} calls for nine messages");
    }

    #[test]
    fn a_message_whose_answer_was_lost_is_sent_again_and_may_be_there_twice() {
        for (is_fifo, expected) in [(false, "sent, perhaps twice"), (true, "sent")] {
            let mut waiting = waiting(is_fifo, &["a"]);
            waiting.next_call(seconds(0), true);
            answer(&mut waiting, 0, Reply::Lost, seconds(0));
            assert_eq!(waiting.next_call(seconds(1), true), [0]);
            answer(&mut waiting, 0, DONE, seconds(1));
            assert_eq!(told(&mut waiting, 0), expected);
        }
    }

    #[test]
    fn a_refusal_after_a_lost_answer_does_not_say_that_it_was_not_sent() {
        let mut waiting = waiting(false, &["a"]);
        waiting.next_call(seconds(0), true);
        answer(&mut waiting, 0, Reply::Lost, seconds(0));
        waiting.next_call(seconds(1), true);
        answer(&mut waiting, 0, BAD, seconds(1));
        assert_eq!(told(&mut waiting, 0), "the message may have been sent");
    }

    #[test]
    fn a_fifo_group_keeps_its_order_and_stops_at_an_unsent_message() {
        let mut waiting = waiting(true, &["a", "a", "b", "a"]);
        assert_eq!(waiting.next_call(seconds(0), true), [0, 2]);
        assert_eq!(waiting.next_call(seconds(0), true), [0; 0], "the others wait for the answer");
        answer(&mut waiting, 0, AGAIN, seconds(0));
        answer(&mut waiting, 2, DONE, seconds(0));
        assert_eq!(
            waiting.next_call(seconds(0), true),
            [0; 0],
            "the first of the group waits for its second try"
        );
        assert_eq!(waiting.next_call(seconds(1), true), [0]);
        answer(&mut waiting, 0, BAD, seconds(1));
        assert_eq!(told(&mut waiting, 0), "SQS refused the message");
        let behind = "the message was not sent, because an earlier message of its group is not known to be";
        assert_eq!([told(&mut waiting, 1), told(&mut waiting, 3)], [behind, behind]);
        waiting.add(4, Some("a"), 1, (), seconds(1));
        assert_eq!((told(&mut waiting, 4).as_str(), waiting.load()), (behind, (0, 0)));
    }

    #[test]
    fn a_call_that_is_refused_for_one_of_its_entries_is_split() {
        let mut waiting = waiting(false, &["a"; 3]);
        waiting.next_call(seconds(0), true);
        let refused = |entries| Reply::Refused { status: 400, code: Some("InvalidParameterValue"), entries };
        (0..3).for_each(|number| answer(&mut waiting, number, refused(3), seconds(0)));
        for number in 0..3 {
            assert_eq!(waiting.next_call(seconds(0), true), [number]);
        }
        answer(&mut waiting, 0, DONE, seconds(0));
        answer(&mut waiting, 1, refused(1), seconds(0));
        assert_eq!([told(&mut waiting, 0), told(&mut waiting, 1)], ["sent", "SQS refused the message"]);
    }

    #[test]
    fn a_refusal_of_the_caller_settles_all_and_time_settles_the_others() {
        let mut waiting = waiting(false, &["a"; 12]);
        waiting.next_call(seconds(0), true);
        answer(
            &mut waiting,
            0,
            Reply::Refused { status: 403, code: Some("AccessDenied"), entries: 10 },
            seconds(0),
        );
        waiting.add(12, None, 1, (), seconds(4));
        for number in [0, 10, 11, 12] {
            assert_eq!(told(&mut waiting, number), "SQS refused the call", "{number}");
        }
        waiting.add(13, None, 1, (), seconds(5));
        assert_eq!(waiting.next_call(seconds(5), true), [13], "it is tried again after a while");
        answer(&mut waiting, 1, AGAIN, seconds(0));
        answer(&mut waiting, 2, Reply::Lost, seconds(0));
        assert_eq!(told(&mut waiting, 1), "the message was not sent in time");
        assert_eq!(told(&mut waiting, 2), "the message may have been sent");

        let mut waiting = self::waiting(false, &["a"]);
        waiting.next_call(seconds(0), true);
        answer(&mut waiting, 0, AGAIN, seconds(60));
        assert_eq!(told(&mut waiting, 0), "the message was not sent in time");
    }

    /// A FIFO queue would not know it any more.
    #[test]
    fn a_message_is_not_tried_again_after_its_time() {
        for (reply, expected) in
            [(Reply::Lost, "the message may have been sent"), (AGAIN, "the message was not sent in time")]
        {
            let mut waiting = waiting(true, &["a", "a"]);
            waiting.next_call(seconds(0), true);
            answer(&mut waiting, 0, reply, seconds(1));
            assert_eq!(waiting.next_call(seconds(400), true), [0; 0]);
            let behind =
                "the message was not sent, because an earlier message of its group is not known to be";
            assert_eq!([told(&mut waiting, 0), told(&mut waiting, 1)], [expected, behind]);
        }
    }

    #[test]
    fn nothing_follows_a_message_of_its_group_that_was_denied_without_a_call() {
        let mut waiting = waiting(true, &["a"]);
        waiting.next_call(seconds(0), true);
        answer(
            &mut waiting,
            0,
            Reply::Refused { status: 403, code: Some("AccessDenied"), entries: 1 },
            seconds(0),
        );
        waiting.add(1, Some("b"), 1, (), seconds(1));
        waiting.add(2, Some("b"), 1, (), seconds(9));
        let behind = "the message was not sent, because an earlier message of its group is not known to be";
        assert_eq!([told(&mut waiting, 1), told(&mut waiting, 2)], ["SQS refused the call", behind]);
    }

    #[test]
    fn a_rate_holds_for_messages_that_are_sent_again_too() {
        let mut waiting = Waiting::new(false, seconds(60), Some(5.0));
        (0..6).for_each(|number| waiting.add(number, None, 1, (), seconds(0)));
        assert_eq!(waiting.next_call(seconds(0), true), [0, 1, 2, 3, 4]);
        (0..5).for_each(|number| answer(&mut waiting, number, AGAIN, seconds(0)));
        assert_eq!(waiting.next_call(Duration::from_millis(999), true), [0; 0]);
        assert_eq!(waiting.due_at(Duration::from_millis(999)), Some(seconds(1)));
        assert_eq!(waiting.next_call(seconds(1), true).len(), 5);
        assert_eq!(waiting.next_call(seconds(1), true), [0; 0]);
        assert_eq!(waiting.next_call(seconds(2), true).len(), 1);
    }

    #[test]
    fn a_stop_settles_what_waits_and_awaits_what_is_under_way() {
        let mut waiting = waiting(false, &["a"; 12]);
        assert_eq!(waiting.next_call(seconds(0), true).len(), 10);
        answer(&mut waiting, 0, Reply::Lost, seconds(0));
        waiting.stop_all();
        waiting.add(12, None, 1, (), seconds(0));
        let stopped = "the message was not sent, because sending was stopped";
        assert_eq!([10, 11, 12].map(|number| told(&mut waiting, number)), [stopped; 3]);
        assert_eq!(told(&mut waiting, 0), "the message may have been sent");
        for (number, reply) in [(1, DONE), (2, AGAIN), (3, Reply::Lost)] {
            answer(&mut waiting, number, reply, seconds(0));
        }
        let late = "the message was not sent in time";
        assert_eq!(
            [1, 2, 3].map(|number| told(&mut waiting, number)),
            ["sent", late, "the message may have been sent"]
        );
        assert_eq!(waiting.next_call(seconds(9), true), [0; 0]);
    }

    #[test]
    fn there_is_no_end_to_endless_patience() {
        let mut waiting = Waiting::new(false, Duration::MAX, None);
        waiting.add(0, None, 1, (), seconds(1));
        waiting.next_call(seconds(1), true);
        answer(&mut waiting, 0, AGAIN, seconds(86_400));
        assert_eq!(waiting.next_call(seconds(86_500), true), [0]);
    }

    proptest! {
        /// SQS accepts, fails, loses or refuses as it likes.
        #[test]
        fn each_message_is_settled_once_and_groups_keep_their_order(
            groups in prop::collection::vec("[abc]", 0..40),
            is_fifo: bool,
            replies in prop::collection::vec(0_u8..8, 400),
            at_once in 1_usize..4,
        ) {
            let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
            let mut waiting = waiting(is_fifo, &groups);
            let (mut now, mut replies) = (seconds(0), replies.into_iter().cycle());
            let (mut calls, mut accepted) = (Vec::new(), Vec::new());
            loop {
                while calls.len() < at_once {
                    let call = waiting.next_call(now, true);
                    if call.is_empty() { break }
                    prop_assert!(call.len() <= MAX_ENTRIES);
                    calls.push(call);
                }
                if calls.is_empty() {
                    let Some(due) = waiting.due_at(now) else { break };
                    now = due;
                    continue;
                }
                for number in calls.remove(0) {
                    let reply = match replies.next() {
                        Some(0) => AGAIN,
                        Some(1) => Reply::Lost,
                        Some(2) => BAD,
                        _ => DONE,
                    };
                    // What was lost may have been accepted too.
                    if matches!(reply, Reply::Confirmed | Reply::Lost) { accepted.push(number) }
                    answer(&mut waiting, number, reply, now);
                }
            }
            prop_assert_eq!(waiting.load(), (0, 0));
            for number in 0..groups.len() {
                let fate = waiting.take(number);
                prop_assert!(fate.is_some(), "{} is not settled", number);
                if let Some(Ok(_)) = fate {
                    prop_assert!(accepted.contains(&number));
                }
            }
            for group in ["a", "b", "c"].into_iter().filter(|_| is_fifo) {
                let mut of_group: Vec<_> = accepted.iter().filter(|&&number| groups[number] == group).collect();
                of_group.dedup();
                prop_assert!(of_group.is_sorted(), "{:?}", of_group);
            }
        }
    }
}
