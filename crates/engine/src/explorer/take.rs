//! Takes steps in the explorer's world.

use std::rc::Rc;
use std::time::Duration;

use super::Consumes;
use super::world::{
    Answer, CallFate, CallProgress, Checked, Consumer, DEADLINE, HandlerEnd, Mood, Running, SqsRequest, Step,
    UnderWay, World,
};
use crate::keys::MessageKey;
use crate::testing::Failure;
use crate::{Confirmation, Event, Outcome, Ran, SettleCall, Time, Worked};

impl World {
    /// Takes a step.
    pub(super) fn take(&mut self, step: Step) -> Checked {
        match step {
            Step::Ends { who, handler, says } => self.ends(who.into(), handler.into(), Some(says)),
            Step::IsCanceled { who, handler } => self.ends(who.into(), handler.into(), None),
            Step::Ignores { who, handler } => {
                self.left.deaf -= 1;
                self.consumer(who.into()).running[usize::from(handler)].mood = Mood::Deaf;
                Ok(())
            }
            Step::Returns { who, blocked } => {
                let (batch, fact) = self.consumer(who.into()).blocked.remove(blocked.into());
                self.histories[fact.message].is_done = true;
                if self.bounds.chunk.is_some() {
                    // A call of a bulk handler returns with all of its messages.
                    let blocked = std::mem::take(&mut self.consumer(who.into()).blocked);
                    let (returned, others) = blocked.into_iter().partition(|(of, _)| *of == batch);
                    let returned: Vec<_> = returned;
                    returned.iter().for_each(|(_, fact)| self.histories[fact.message].is_done = true);
                    self.consumer(who.into()).blocked = others;
                }
                match self.consumers[usize::from(who)].consumes {
                    Consumes::Worker => self.on(who.into(), Event::Unblocked(batch)),
                    Consumes::Sandbox => Ok(()),
                }
            }
            Step::Calls { who, call, goes } => self.call(who.into(), call.into(), None, goes),
            Step::Receives { who, call, most, goes } => {
                self.call(who.into(), call.into(), Some(most.into()), goes)
            }
            Step::Delivers { who, most } => self.deliver(who.into(), most.into()),
            Step::Duplicates { message } => {
                self.duplicate(message.into());
                Ok(())
            }
            Step::Arrives { stray } => self.arrives(stray.into()),
            Step::Kill { who } => {
                self.left.kills -= 1;
                let calls = self.consumers[usize::from(who)].calls.clone();
                for call in calls.into_iter().filter(|call| !matches!(call.way, CallProgress::Acted(_))) {
                    if self.left.strays > 0 {
                        self.stray(call.what);
                    }
                }
                self.replace(who.into())
            }
            Step::Signal { who } => {
                self.left.signals -= 1;
                self.consumer(who.into()).is_told = true;
                self.on(who.into(), Event::Stop)
            }
            Step::Places { who, places } => {
                self.left.changes_of_places -= 1;
                self.consumer(who.into()).places = places.into();
                self.on(who.into(), Event::Places(places.into()))
            }
            Step::Sleep { who } => {
                self.left.losses -= 1;
                self.consumer(who.into()).is_asleep = true;
                Ok(())
            }
            Step::Wake { who } => {
                self.consumer(who.into()).is_asleep = false;
                self.drain(who.into())
            }
            Step::Time { old_polls } => self.time(old_polls),
        }
    }

    pub(super) fn time(&mut self, old_polls: bool) -> Checked {
        self.left.losses -= u8::from(old_polls);
        let runs = |it: &Rc<Consumer>| !it.is_asleep && it.running.iter().any(|it| it.mood == Mood::Runs);
        self.left.patience -= u8::from(self.consumers.iter().any(runs));
        self.now = self.due().expect("something is due");
        self.look_at_queue();
        for who in 0..self.consumers.len() {
            let consumer = &self.consumers[who];
            if consumer.is_asleep {
                continue;
            }
            if !consumer.delivery.is_empty() && consumer.began + DEADLINE <= self.now {
                return Err("the function did not respond before its deadline".to_owned());
            }
            self.drain(who)?;
            let now = self.now - self.consumers[who].began;
            let is_receivable = self.is_receivable;
            let is_over = |it: &UnderWay| match &it.what {
                SqsRequest::Receive(poll) if is_receivable => it.is_parked() && poll.sent + poll.wait < now,
                SqsRequest::Receive(poll) => {
                    it.is_parked() && poll.sent < now && (!old_polls || poll.sent + poll.wait <= now)
                }
                SqsRequest::Settle { .. } | SqsRequest::Extend { .. } => false,
            };
            while let Some(place) = self.consumers[who].calls.iter().position(is_over) {
                if let SqsRequest::Receive(poll) = self.consumer(who).calls.remove(place).what {
                    self.on(who, Event::Received { poll, messages: Vec::new() })?;
                }
                if self.consumers[who].began == self.now {
                    // It has ended, and another has begun.
                    break;
                }
            }
        }
        Ok(())
    }

    /// Ends a handler, by itself or because it is canceled.
    pub(super) fn ends(&mut self, who: usize, handler: usize, says: Option<HandlerEnd>) -> Checked {
        let ended = self.consumer(who).running.remove(handler);
        let Running { batch, lanes, facts, began, mood, .. } = &ended;
        let (batch, began) = (*batch, *began);
        let is_worker = self.consumers[who].consumes == Consumes::Worker;
        let is_held =
            facts.iter().any(|fact| self.histories[fact.message].leases[fact.attempt as usize] > self.now);
        let mut outcomes = Vec::new();
        for (place, fact) in facts.iter().enumerate() {
            let outcome = match says {
                Some(HandlerEnd::DoneInPart) if place == 0 => Outcome::Done,
                Some(HandlerEnd::Done) => Outcome::Done,
                Some(HandlerEnd::Fails | HandlerEnd::DoneInPart) => {
                    Outcome::Failed(Failure::from("down").reduce(None))
                }
                Some(HandlerEnd::Rejects) => Outcome::Failed(Failure::reject("no").reduce(None)),
                Some(HandlerEnd::Outage) => Outcome::Failed(Failure::outage("down").reduce(None)),
                None => Outcome::TimedOut,
            };
            if matches!(outcome, Outcome::Done) {
                // A call of a bulk handler continues while one of its messages is held.
                if is_worker && *mood == Mood::Runs && !is_held {
                    self.may_take_effect(fact)?;
                }
                self.histories[fact.message].is_done = true;
                if is_worker {
                    self.consumer(who).done.insert(fact.message);
                }
            }
            outcomes.push(outcome);
        }
        if self.bounds.chunk.is_none() || !is_worker {
            let rest = lanes[0].start + 1..lanes[0].end;
            let goes_on = outcomes[0].lets_the_lane_go_on() && !rest.is_empty();
            if goes_on && !self.consumers[who].ending.contains(&batch) {
                self.consumer(who).lanes.push_front((batch, rest));
            }
        }
        if says == Some(HandlerEnd::Done) {
            self.learn(who, &ended, says);
        }
        // The runner takes the next message before the engine hears of this one.
        self.begin(who)?;
        if says != Some(HandlerEnd::Done) {
            self.learn(who, &ended, says);
        }
        let consumer = &self.consumers[who];
        let of = consumer.engine.as_ref().and_then(|engine| engine.batches().get(&batch));
        let since = of.map_or(Time::ZERO, |of| self.now - consumer.began - of.began);
        let places = ended.places();
        let worked = places.zip(outcomes).enumerate().map(|(number, (at, outcome))| {
            let ran = Some(Ran { took: self.now - began, ended: since, is_shared: number > 0 });
            Worked { key: MessageKey { batch, at }, outcome, ran }
        });
        let worked = worked.collect();
        self.on(who, Event::Ended(worked))
    }

    /// Lets a call meet its fate.
    pub(super) fn call(&mut self, who: usize, call: usize, most: Option<usize>, goes: CallFate) -> Checked {
        let (is_good, may_arrive) = (
            matches!(goes, CallFate::Well | CallFate::Answered | CallFate::TimedOut),
            matches!(goes, CallFate::Strays | CallFate::Repeated),
        );
        let is_loss = !is_good && !may_arrive;
        self.left.losses -= u8::from(is_loss);
        if goes == CallFate::Later {
            self.consumer(who).calls[call].way = CallProgress::Slow;
            return Ok(());
        }
        let UnderWay { what, way, limit } = self.consumer(who).calls.remove(call);
        if may_arrive {
            self.stray(what.clone());
        }
        let skipped = match goes {
            CallFate::Without(entry) => Some(entry.into()),
            _ => None,
        };
        let answer = match (way, goes) {
            (CallProgress::Acted(answer), CallFate::Answered) => Some(answer),
            (_, CallFate::Lost | CallFate::Strays) => None,
            (way, CallFate::TimedOut) => {
                if let CallProgress::Acted(_) = way {
                    self.note_lost(&what);
                }
                None
            }
            _ => Some(self.act(who, &what, most, skipped)?),
        };
        match goes {
            CallFate::AnsweredLater => {
                let way = answer.map_or(CallProgress::Slow, CallProgress::Acted);
                self.consumer(who).calls.push(UnderWay { what, way, limit });
                Ok(())
            }
            CallFate::Unanswered => {
                self.note_lost(&what);
                self.answer(who, what, None)
            }
            _ => self.answer(who, what, answer),
        }
    }

    /// Keeps a call that may arrive later although its caller has stopped waiting.
    fn stray(&mut self, what: SqsRequest) {
        self.left.strays -= 1;
        self.note_lost(&what);
        self.strays.push(what);
    }

    pub(super) fn note_lost(&mut self, what: &SqsRequest) {
        if let SqsRequest::Settle { call, facts } = what
            && call.kind == SettleCall::DeadLetter
        {
            facts.iter().for_each(|fact| self.histories[fact.message].has_lost_letter = true);
        }
    }

    pub(super) fn answer(&mut self, who: usize, what: SqsRequest, answer: Option<Answer>) -> Checked {
        let event = match (what, answer) {
            (SqsRequest::Settle { call, .. }, answer) => {
                let answers = match answer {
                    Some(Answer::Settlement(confirmed)) => {
                        confirmed.into_iter().map(|key| (key, Confirmation::Done)).collect()
                    }
                    _ => Vec::new(),
                };
                Event::Answered { call, answers, took: Duration::ZERO }
            }
            (SqsRequest::Extend { asked, leases, .. }, answer) => {
                let answers = match answer {
                    Some(Answer::Extended(answers)) => Ok(answers),
                    _ => Err("no answer".to_owned()),
                };
                Event::Extended { asked, leases, answers }
            }
            (SqsRequest::Receive(poll), Some(Answer::Received(facts))) => {
                let messages = facts.into_iter().map(|facts| self.consumer(who).arrival(facts)).collect();
                Event::Received { poll, messages }
            }
            (SqsRequest::Receive(poll), _) => Event::NotReceived { poll, random: 1.0, error: String::new() },
        };
        self.on(who, event)
    }
}
