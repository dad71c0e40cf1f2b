//! Messages in hand that wait for their turn. They do not take the places of messages that handlers work on.

use std::collections::BTreeMap;

use super::keyed_limiter::{Candidates, RateAdmission};
use crate::keys::LeaseKey;
use crate::worker::WorkerEngine;
use crate::worker::receive::{Arrival, one_at_a_time};
use crate::{MessageMeta, Time};

#[derive(Debug, Clone)]
pub(crate) struct Parked<F> {
    /// The messages by their turns. Those of a FIFO group wait together.
    groups: BTreeMap<(Time, LeaseKey), Vec<Arrival<F>>>,
    pub(crate) messages: usize,
    bytes: usize,
}

impl<F: MessageMeta> WorkerEngine<'_, F> {
    /// Returns the messages that may start now. The others wait, or return to the queue.
    pub(crate) fn in_turn(&mut self, messages: Vec<Arrival<F>>, sent: Time, now: Time) -> Vec<Arrival<F>> {
        if self.machine.keyed_limiter.is_none() || self.machine.is_ending() {
            return messages;
        }
        let mut ready = Vec::new();
        for group in one_at_a_time(messages, self.machine.receiving.is_fifo) {
            let turn = self.turn_of(&group, now);
            if turn != RateAdmission::Start {
                group.iter().for_each(|message| self.machine.take(message, sent, now));
            }
            match turn {
                RateAdmission::Start => ready.extend(group),
                RateAdmission::Park(at) => self.machine.parked.add(at, group),
                RateAdmission::Return(after) => {
                    let after = self.context.policy.within_limits(after);
                    self.machine.budget.iter_mut().for_each(|budget| budget.give_back(group.len(), now));
                    group.into_iter().for_each(|message| self.hand_back(message, after, now));
                }
            }
        }
        ready
    }

    fn turn_of(&mut self, group: &[Arrival<F>], now: Time) -> RateAdmission {
        let Some(first) = group.first().filter(|first| !self.is_in_hand(&first.facts)) else {
            return RateAdmission::Start;
        };
        let Some(key) = first.facts.rate_key() else { return RateAdmission::Start };
        let receiving = self.machine.receiving;
        let (messages, bytes) = (self.machine.parked.messages + group.len(), bytes_of(group));
        // Half of the bytes stay for messages that can start.
        let has_room = messages <= self.machine.pollers.capacity
            && self.machine.parked.bytes + bytes <= self.machine.most_bytes() / 2;
        let candidates = Candidates {
            messages: group.len(),
            came_before: first.facts.attempt() > 1,
            must_stay: group.iter().any(|message| self.is_last_attempt(message)),
            may_wait_until: has_room.then(|| now + receiving.visibility),
        };
        self.machine
            .keyed_limiter
            .as_mut()
            .map_or(RateAdmission::Start, |turns| turns.turn(&key, candidates, now))
    }

    /// Starts messages whose turn has come, as long as there are places.
    pub(crate) fn start_waiting(&mut self, now: Time) {
        while self.has_place()
            && let Some(messages) = self.machine.parked.next(now)
        {
            self.start_in_turn(messages, now);
        }
    }

    /// Returns when the next parked messages start.
    pub(crate) fn waiting_due_at(&self) -> Option<Time> {
        self.machine.parked.groups.first_key_value().map(|((at, _), _)| *at).filter(|_| self.has_place())
    }

    /// Returns true if a parked message has a place. Shared places that a receive asks for are not free.
    fn has_place(&self) -> bool {
        let asked = self.machine.places.map_or(0, |_| self.machine.pollers.asked);
        self.machine.in_hand - self.machine.parked.messages + asked < self.machine.capacity()
    }

    /// Returns parked messages to the queue when the worker ends. Those without another delivery start.
    pub(crate) fn hand_back_waiting(&mut self, now: Time) {
        for (_, group) in std::mem::take(&mut self.machine.parked).groups {
            let must_stay = group.iter().any(|message| self.is_last_attempt(message));
            if must_stay || self.machine.receiving.chunk.is_some() {
                self.start_in_turn(group, now);
            } else {
                group.into_iter().for_each(|message| self.hand_back(message, Time::ZERO, now));
            }
        }
    }
}

impl<F> Parked<F> {
    fn add(&mut self, at: Time, group: Vec<Arrival<F>>) {
        if let Some(first) = group.first() {
            self.messages += group.len();
            self.bytes += bytes_of(&group);
            self.groups.insert((at, first.lease), group);
        }
    }

    fn next(&mut self, now: Time) -> Option<Vec<Arrival<F>>> {
        let first = self.groups.first_entry().filter(|entry| entry.key().0 <= now)?;
        let group = first.remove();
        self.messages -= group.len();
        self.bytes -= bytes_of(&group);
        Some(group)
    }

    /// Removes a message whose lease is lost, and those behind it in its FIFO group, which must not overtake it.
    pub(crate) fn remove(&mut self, lease: LeaseKey) -> Vec<Arrival<F>> {
        let mut removed = Vec::new();
        self.groups.retain(|_, group| {
            if let Some(at) = group.iter().position(|message| message.lease == lease) {
                removed = group.split_off(at);
            }
            !group.is_empty()
        });
        self.messages -= removed.len();
        self.bytes -= bytes_of(&removed);
        removed
    }

    #[cfg(test)]
    pub(crate) fn each(&self) -> impl Iterator<Item = (Time, impl Iterator<Item = LeaseKey>)> {
        self.groups.iter().map(|((at, _), group)| (*at, group.iter().map(|message| message.lease)))
    }
}

impl<F> Default for Parked<F> {
    fn default() -> Self {
        Self { groups: BTreeMap::new(), messages: 0, bytes: 0 }
    }
}

fn bytes_of<F>(group: &[Arrival<F>]) -> usize {
    group.iter().map(|message| message.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_does_not_overtake_one_of_its_group_whose_lease_is_lost() {
        let mut waiting = Parked::default();
        let group = |leases: &[usize]| {
            let arrival = |&lease: &usize| Arrival { lease: LeaseKey(lease), facts: (), body: 1, bytes: 1 };
            leases.iter().map(arrival).collect()
        };
        waiting.add(Time::ZERO, group(&[1, 2, 3]));
        waiting.add(Time::ZERO, group(&[4]));
        let removed: Vec<_> = waiting.remove(LeaseKey(2)).into_iter().map(|message| message.lease).collect();
        assert_eq!((removed, waiting.messages), (vec![LeaseKey(2), LeaseKey(3)], 2));
        assert_eq!(waiting.remove(LeaseKey(4)).len(), 1);
        assert_eq!((waiting.messages, waiting.bytes, waiting.groups.len()), (1, 1, 1));
    }
}
