//! Remembers the letters that a run has seen, and decides about the next one. Pure.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::letter::Letter;
use super::scope::Scope;

/// Decision about a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The run moves or deletes it.
    Wanted,
    /// Another letter with the same message and content was done, so this one is only deleted.
    Duplicate,
    /// Another letter with the same message and content is in work, so this one waits for the result.
    DuplicateInWork,
    /// It stays, hidden until the end so that it is not received again and again.
    Left(LeftReason),
    /// It was left before, and was received again.
    Again,
    /// It was selected before, and was received again. It does not count, and is deleted once its message is done.
    Repeated,
}

/// Reason why a letter stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LeftReason {
    NotWanted,
    NoNote,
    OverMaximum,
    BehindInGroup,
    OfAnotherQueue,
    NoSource,
    CameBack,
    CameLater,
    Unchanged,
    DuplicateFailed,
    Interrupted,
    Skipped,
    NotShown,
}

impl fmt::Display for LeftReason {
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
            Self::DuplicateFailed => "duplicate of a letter that was not sent",
            Self::Interrupted => "interrupted",
            Self::Skipped => "skipped",
            Self::NotShown => "not shown",
        })
    }
}

/// How letters of the same message are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folding {
    /// As one: the run sends only one of them.
    ByMessage,
    /// Separately: a user who deletes one has not selected the other.
    ByLetter,
}

/// Progress of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    InWork,
    Done,
}

/// A message id, in 16 bytes if it has the form of SQS's ids.
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

/// The unit that is done once: a message with its content, or a letter. A letter is deleted unsent only if both are equal.
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

/// The memory of a run: some bytes for each letter that it has seen, without bodies.
#[derive(Debug)]
pub(crate) struct MessageTracker {
    pub(crate) scope: Scope,
    folding: Folding,
    lives: HashMap<Identity, Life>,
    /// Message ids under which letters were sent back.
    sent_as: HashSet<Key>,
    /// Letters that stay.
    left: HashSet<Key>,
    /// Letters that were selected, with their positions in the order in which they were seen.
    taken: HashMap<Key, u64>,
    /// FIFO groups with a letter that stays, and the position of the first one. Only letters behind it stay too.
    stopped: HashMap<Box<str>, u64>,
    /// Number of letters that were seen.
    seen: u64,
    /// Number of letters that may still be done.
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
            seen: 0,
            room: most.unwrap_or(u64::MAX),
        }
    }

    /// Returns the number of letters that may still be done.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    /// Decides about a letter. From now on a wanted letter counts as in work. `group` is none unless order matters. A letter that
    /// SQS delivers again has the same id, and is not a duplicate of its message.
    pub(crate) fn judge(
        &mut self,
        letter: &Letter,
        group: Option<&str>,
        wanted: Result<(), LeftReason>,
    ) -> Decision {
        let id = Key::new(&letter.id);
        if self.left.contains(&id) {
            return Decision::Again;
        }
        if self.taken.contains_key(&id) {
            return Decision::Repeated;
        }
        self.seen += 1;
        let decision = self.first(letter, group, wanted);
        if !matches!(decision, Decision::Left(_)) {
            self.taken.insert(id, self.seen);
        }
        decision
    }

    /// Decides about a letter that is seen for the first time.
    fn first(&mut self, letter: &Letter, group: Option<&str>, wanted: Result<(), LeftReason>) -> Decision {
        let identity = Identity::new(letter, self.folding);
        // SQS counted duplicates too.
        let covered = self.scope.covers(letter.enqueued_at());
        match (self.lives.get(&identity), wanted) {
            (Some(Life::Done), Ok(())) => return Decision::Duplicate,
            (Some(Life::InWork), Ok(())) => return Decision::DuplicateInWork,
            (Some(_), Err(_)) | (None, _) => (),
        }
        let why = if self.sent_as.contains(&Key::new(letter.message_id())) {
            Some(LeftReason::CameBack)
        } else if wanted == Err(LeftReason::NotWanted) {
            Some(LeftReason::NotWanted)
        } else if !covered {
            Some(LeftReason::CameLater)
        } else if let Err(why) = wanted {
            Some(why)
        } else if self.room == 0 {
            Some(LeftReason::OverMaximum)
        } else if group.is_some_and(|group| self.stopped.contains_key(group)) {
            Some(LeftReason::BehindInGroup)
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

    /// Leaves a letter, and so those behind it in its group.
    fn leave(&mut self, letter: &Letter, group: Option<&str>) {
        let id = Key::new(&letter.id);
        let place = self.taken.get(&id).copied().unwrap_or(self.seen);
        self.left.insert(id);
        if let Some(group) = group {
            let first = self.stopped.entry(group.into()).or_insert(place);
            *first = place.min(*first);
        }
    }

    /// Returns true if the letter with this id stays.
    pub(crate) fn has_left(&self, id: &str) -> bool {
        self.left.contains(&Key::new(id))
    }

    /// Returns true if the letter with this id was seen.
    pub(crate) fn has_seen(&self, id: &str) -> bool {
        let id = Key::new(id);
        self.left.contains(&id) || self.taken.contains_key(&id)
    }

    /// Returns true if a wanted letter would overtake one of its group that stays by now.
    pub(crate) fn overtakes(&self, letter: &Letter, group: Option<&str>) -> bool {
        let first = group.and_then(|group| self.stopped.get(group));
        let place = self.taken.get(&Key::new(&letter.id));
        first.is_some_and(|first| place.is_none_or(|place| first < place))
    }

    /// Leaves a wanted letter. It still counts: if the user selected two letters, no third one replaces it.
    pub(crate) fn give_up(&mut self, letter: &Letter, group: Option<&str>) {
        self.lives.remove(&Identity::new(letter, self.folding));
        self.leave(letter, group);
    }

    /// Records that a letter was sent under this message id, or will be deleted unsent.
    pub(crate) fn done(&mut self, letter: &Letter, sent_as: Option<&str>) {
        self.lives.insert(Identity::new(letter, self.folding), Life::Done);
        self.sent_as.extend(sent_as.map(Key::new));
    }

    /// Records that an earlier run did a wanted letter, so that another may be done in its place.
    pub(crate) fn was_done(&mut self, letter: &Letter, sent_as: Option<&str>) {
        self.done(letter, sent_as);
        self.room = self.room.saturating_add(1);
    }

    /// Returns true if a letter of this message was done.
    pub(crate) fn is_done(&self, letter: &Letter) -> bool {
        self.lives.get(&Identity::new(letter, self.folding)) == Some(&Life::Done)
    }
}

#[cfg(test)]
mod tests;
