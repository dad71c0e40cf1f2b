//! What this run knows of the letters that it has met, and so what it does with the next one. Pure.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::letter::Letter;
use super::scope::Scope;

/// What to do with a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It is to be moved or deleted.
    Wanted,
    /// Another letter of the same message and content was done: this one is deleted only.
    Duplicate,
    /// Another letter of the same message is being worked on: wait what comes of that.
    Twin,
    /// It stays, held until the end so that it is not received again and again.
    Left(Why),
    /// It was left before and is here again.
    Again,
    /// It was taken before and is here again: it is no letter more, and goes when its message is done.
    Repeated,
}

/// Why a letter stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Why {
    NotWanted,
    NoNote,
    OverMaximum,
    BehindInGroup,
    OfAnotherQueue,
    NoSource,
    CameBack,
    CameLater,
    Unchanged,
    TwinFailed,
    Interrupted,
    Skipped,
    NotShown,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotWanted => "not selected",
            Self::NoNote => "without a note",
            Self::OverMaximum => "over --max",
            Self::BehindInGroup => "behind a skipped letter of its group",
            Self::OfAnotherQueue => "from another queue (--to sends it)",
            Self::NoSource => "not moved here by SQS (--to sends it)",
            Self::CameBack => "failed again",
            Self::CameLater => "arrived after the start",
            Self::Unchanged => "unchanged in the editor",
            Self::TwinFailed => "duplicate of a letter that was not sent",
            Self::Interrupted => "interrupted",
            Self::Skipped => "skipped",
            Self::NotShown => "not shown",
        })
    }
}

/// Whether two letters of one message are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folding {
    /// They are: what is sent for one need not be sent for the other.
    ByMessage,
    /// Each is for itself: who deletes one has not chosen the other.
    ByLetter,
}

/// How far a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    InWork,
    Done,
}

/// A message id in 16 bytes, if it is one as SQS gives them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Uuid(u128),
    Text(Box<str>),
}

impl Key {
    fn new(id: &str) -> Self {
        let as_written = |(at, c): (usize, char)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => matches!(c, '0'..='9' | 'a'..='f'),
        };
        let is_uuid = id.len() == 36 && id.char_indices().all(as_written);
        match u128::from_str_radix(&id.replace('-', ""), 16) {
            Ok(number) if is_uuid => Self::Uuid(number),
            _ => Self::Text(id.into()),
        }
    }
}

/// What is done once: a message with its content, or a letter. Only what is the same in both is ever deleted unsent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    Message { id: Key, content: [u8; 32] },
    Letter(Key),
}

impl Identity {
    pub(super) fn new(letter: &Letter, folding: Folding) -> Self {
        match folding {
            Folding::ByMessage => {
                Self::Message { id: Key::new(letter.message_id()), content: letter.content() }
            }
            Folding::ByLetter => Self::Letter(Key::new(&letter.id)),
        }
    }
}

/// The memory of a run: some bytes for each letter that it has met, no bodies.
#[derive(Debug)]
pub(crate) struct MessageTracker {
    pub(crate) scope: Scope,
    folding: Folding,
    lives: HashMap<Identity, Life>,
    /// The message ids that letters got when they were sent back.
    sent_as: HashSet<Key>,
    /// Letters that stay.
    left: HashSet<Key>,
    /// Letters that were to be moved or deleted, by their places in the order in which they were met.
    taken: HashMap<Key, u64>,
    /// FIFO groups of which a letter stays, by the place of the first that does: only what is behind that one stays too.
    stopped: HashMap<Box<str>, u64>,
    /// How many letters were met.
    met: u64,
    /// How many more may be done.
    room: u64,
}

impl MessageTracker {
    pub(crate) fn new(scope: Scope, folding: Folding, most: Option<u64>) -> Self {
        Self {
            scope,
            folding,
            lives: HashMap::new(),
            sent_as: HashSet::new(),
            left: HashSet::new(),
            taken: HashMap::new(),
            stopped: HashMap::new(),
            met: 0,
            room: most.unwrap_or(u64::MAX),
        }
    }

    /// How many more letters may be done.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    /// `group` only where order matters. What is wanted is taken to be in work from now on. A letter that SQS delivers
    /// again has the same id, and is not another one of its message.
    pub(crate) fn judge(
        &mut self,
        letter: &Letter,
        group: Option<&str>,
        wanted: Result<(), Why>,
    ) -> Decision {
        let id = Key::new(&letter.id);
        if self.left.contains(&id) {
            return Decision::Again;
        }
        if self.taken.contains_key(&id) {
            return Decision::Repeated;
        }
        self.met += 1;
        let decision = self.first(letter, group, wanted);
        if !matches!(decision, Decision::Left(_)) {
            self.taken.insert(id, self.met);
        }
        decision
    }

    /// What to do with a letter that is met for the first time.
    fn first(&mut self, letter: &Letter, group: Option<&str>, wanted: Result<(), Why>) -> Decision {
        let identity = Identity::new(letter, self.folding);
        // A duplicate is one of the letters that SQS counted too.
        let covered = self.scope.covers(letter.enqueued_at());
        match (self.lives.get(&identity), wanted) {
            (Some(Life::Done), Ok(())) => return Decision::Duplicate,
            (Some(Life::InWork), Ok(())) => return Decision::Twin,
            (Some(_), Err(_)) | (None, _) => (),
        }
        let why = if self.sent_as.contains(&Key::new(letter.message_id())) {
            Some(Why::CameBack)
        } else if wanted == Err(Why::NotWanted) {
            Some(Why::NotWanted)
        } else if !covered {
            Some(Why::CameLater)
        } else if let Err(why) = wanted {
            Some(why)
        } else if self.room == 0 {
            Some(Why::OverMaximum)
        } else if group.is_some_and(|group| self.stopped.contains_key(group)) {
            Some(Why::BehindInGroup)
        } else {
            None
        };
        match why {
            Some(why) => {
                self.leave(letter, group);
                Decision::Left(why)
            }
            None => {
                self.room -= 1;
                self.lives.insert(identity, Life::InWork);
                Decision::Wanted
            }
        }
    }

    /// A letter stays, and with it those behind it in its group.
    fn leave(&mut self, letter: &Letter, group: Option<&str>) {
        let id = Key::new(&letter.id);
        let place = self.taken.get(&id).copied().unwrap_or(self.met);
        self.left.insert(id);
        if let Some(group) = group {
            let first = self.stopped.entry(group.into()).or_insert(place);
            *first = place.min(*first);
        }
    }

    /// Whether the letter with this id stays.
    pub(crate) fn has_left(&self, id: &str) -> bool {
        self.left.contains(&Key::new(id))
    }

    /// Whether the letter with this id was met.
    pub(crate) fn has_met(&self, id: &str) -> bool {
        let id = Key::new(id);
        self.left.contains(&id) || self.taken.contains_key(&id)
    }

    /// Whether a letter that was wanted would overtake one of its group that stays by now.
    pub(crate) fn overtakes(&self, letter: &Letter, group: Option<&str>) -> bool {
        let first = group.and_then(|group| self.stopped.get(group));
        let place = self.taken.get(&Key::new(&letter.id));
        first.is_some_and(|first| place.is_none_or(|place| first < place))
    }

    /// A letter that was wanted stays. It counts: who asks for two letters gets no third one instead.
    pub(crate) fn give_up(&mut self, letter: &Letter, group: Option<&str>) {
        self.lives.remove(&Identity::new(letter, self.folding));
        self.leave(letter, group);
    }

    /// A letter was sent, under this message id, or is to be deleted without.
    pub(crate) fn done(&mut self, letter: &Letter, sent_as: Option<&str>) {
        self.lives.insert(Identity::new(letter, self.folding), Life::Done);
        self.sent_as.extend(sent_as.map(Key::new));
    }

    /// A letter that was wanted was done by an earlier run: another may be done in its place.
    pub(crate) fn was_done(&mut self, letter: &Letter, sent_as: Option<&str>) {
        self.done(letter, sent_as);
        self.room = self.room.saturating_add(1);
    }

    /// Whether a letter of this message was done by now.
    pub(crate) fn is_done(&self, letter: &Letter) -> bool {
        self.lives.get(&Identity::new(letter, self.folding)) == Some(&Life::Done)
    }
}

#[cfg(test)]
mod tests;
