//! Steps in words.

use std::sync::Arc;

use super::world::{Answer, CallFate, CallProgress, Fact, HandlerEnd, SqsRequest, Step, UnderWay, World};
use crate::{Call, SettleCall};

impl World {
    /// Describes a step before it is taken.
    pub(super) fn words(&self, step: Step) -> String {
        match step {
            Step::Ends { who, handler, says } => {
                let handler = &self.consumers[usize::from(who)].running[usize::from(handler)];
                let says = match says {
                    HandlerEnd::Done => "done",
                    HandlerEnd::Fails => "it fails",
                    HandlerEnd::Rejects => "it rejects the message",
                    HandlerEnd::Outage => "it reports an outage",
                    HandlerEnd::DoneInPart => "its first message is done, the others fail",
                };
                format!("{}: the handler of {} ends: {says}", self.name(who.into()), those(&handler.facts))
            }
            Step::IsCanceled { who, handler } => {
                let handler = &self.consumers[usize::from(who)].running[usize::from(handler)];
                format!("{}: the handler of {} is canceled", self.name(who.into()), those(&handler.facts))
            }
            Step::Ignores { who, handler } => {
                let handler = &self.consumers[usize::from(who)].running[usize::from(handler)];
                format!(
                    "{}: the handler of {} ignores that it is canceled",
                    self.name(who.into()),
                    those(&handler.facts)
                )
            }
            Step::Returns { who, blocked } => {
                let (_, fact) = &self.consumers[usize::from(who)].blocked[usize::from(blocked)];
                format!(
                    "{}: the handler of {} returns, which was given up",
                    self.name(who.into()),
                    name(fact)
                )
            }
            Step::Calls { who, call, goes } | Step::Receives { who, call, goes, .. } => {
                let call = &self.consumers[usize::from(who)].calls[usize::from(call)];
                let most = match step {
                    Step::Receives { most, .. } => format!(" (at most {most})"),
                    _ => String::new(),
                };
                let goes = match goes {
                    CallFate::Well => "is done and answered",
                    CallFate::Lost => "does not arrive",
                    CallFate::Unanswered => "is done, and its answer is lost",
                    CallFate::Without(entry) => {
                        return format!(
                            "{}: {} is answered, but its entry {} fails",
                            self.name(who.into()),
                            under_way(call),
                            entry + 1
                        );
                    }
                    CallFate::AnsweredLater => "is done, and answered later",
                    CallFate::Later => "is slow",
                    CallFate::Answered => "is answered",
                    CallFate::TimedOut => "has taken too long",
                    CallFate::Strays => "gets no answer, and may arrive later",
                    CallFate::Repeated => "is done and answered, and may arrive once more",
                };
                format!("{}: {}{most} {goes}", self.name(who.into()), under_way(call))
            }
            Step::Delivers { who, most } => {
                format!("Lambda invokes {} (at most {most} messages)", self.name(who.into()))
            }
            Step::Duplicates { message } => format!("SQS delivers m{} once more", message + 1),
            Step::Arrives { stray } => {
                format!("{} arrives, and nobody waits for it", what(&self.strays[usize::from(stray)]))
            }
            Step::Kill { who } => format!("{} is killed, and another begins", self.name(who.into())),
            Step::Sleep { who } => format!("{} stands still", self.name(who.into())),
            Step::Wake { who } => format!("{} goes on", self.name(who.into())),
            Step::Signal { who } => format!("{} gets SIGTERM", self.name(who.into())),
            Step::Places { who, places } => format!("{} has {places} places", self.name(who.into())),
            Step::Time { old_polls: false } => "time goes on".to_owned(),
            Step::Time { old_polls: true } => "time goes on, and polls still wait".to_owned(),
        }
    }
}

fn name(fact: &Fact) -> String {
    format!("m{} (delivery {})", fact.message + 1, fact.attempt)
}

fn those(facts: &[Arc<Fact>]) -> String {
    facts.iter().map(|fact| name(fact)).collect::<Vec<_>>().join(" and ")
}

fn names(facts: &[Arc<Fact>]) -> String {
    facts.iter().map(|fact| format!("m{}", fact.message + 1)).collect::<Vec<_>>().join(" and ")
}

fn under_way(call: &UnderWay) -> String {
    match (&call.what, &call.way) {
        (SqsRequest::Receive(_), CallProgress::Acted(Answer::Received(facts))) => {
            format!("the receive that brings {}", names(facts))
        }
        (of, _) => what(of),
    }
}

fn what(what: &SqsRequest) -> String {
    match what {
        SqsRequest::Settle { call: settle, facts } => call(settle, facts),
        SqsRequest::Extend { facts, .. } => format!("the extension of {}", names(facts)),
        SqsRequest::Receive(_) => "the receive".to_owned(),
    }
}

pub(super) fn call(call: &Call, facts: &[Arc<Fact>]) -> String {
    let facts_named = names(facts);
    match call.kind {
        SettleCall::DeadLetter => format!("the letter of {facts_named}"),
        SettleCall::Delete => format!("the delete of {facts_named}"),
        SettleCall::ChangeVisibility => {
            let after = call.messages.iter().zip(facts);
            let after = after.map(|((_, after), fact)| format!("m{} by {after:?}", fact.message + 1));
            format!("the delay of {}", after.collect::<Vec<_>>().join(" and "))
        }
    }
}
