//! EngineContext that keep messages safe, each of which the explorer can take away, to show that it finds what then goes wrong.

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// What failed is not deleted.
    FailedStays,
    /// A message is not deleted before its letter is confirmed.
    LetterIsConfirmed,
    /// A message whose lease is lost is not settled.
    LostIsLeft,
    /// A delay waits for the answer to an extension.
    DelayWaits,
    /// The next message of a group begins once the one before it is deleted.
    NextAfterDelete,
    /// A visibility timeout is set again only while an earlier call may still hide the message.
    RepeatWhileHidden,
    /// A lease that has ended is lost, whatever an answer says that comes after it.
    LeasesEndFirst,
    /// A handler is polled only while the lease of its message holds.
    PollWhileLeased,
    /// A message that is over and comes back is deleted, and does not run again.
    FinishedIsKnown,
    /// Only the end of the message that tries a dependency lets the next one try.
    TrialEndsRest,
    /// What is received while its handler runs is ignored.
    SecondReceiveIsIgnored,
    /// Those behind a message wait for its letter.
    FollowersWait,
    /// The letters of a group are written one by one.
    LettersInTurn,
    /// Messages that come after the end of their leases are dropped.
    LateReceiveIsDropped,
    /// A lease begins when its receive was sent.
    LeaseFromTheStart,
    /// No message begins after the stop.
    NoneAfterTheStop,
    /// A message that may have ended a process runs beside no other.
    SuspectsRunAlone,
    /// No message runs while what it needs is down.
    NoneWhileDown,
    /// A message whose handler blocks is left alone.
    BlockedIsLeft,
    /// The end of a group goes back first.
    TailFirst,
    /// No call is made right before the end of a lease.
    NoneTooLate,
}

/// `guard!(Name, condition)`: the condition under which a guard acts. False if the guard is taken away.
macro_rules! guard {
    ($guard:ident, $condition:expr) => {
        $condition && $crate::guards::holds($crate::guards::Guard::$guard)
    };
}

/// `require!(Name, condition)`: the condition that a guard requires. True if the guard is taken away.
macro_rules! require {
    ($guard:ident, $condition:expr) => {
        $condition || !$crate::guards::holds($crate::guards::Guard::$guard)
    };
}

pub(crate) use {guard, require};

#[cfg(not(debug_assertions))]
pub(crate) const fn holds(_: Guard) -> bool {
    true
}

#[cfg(debug_assertions)]
pub(crate) fn holds(guard: Guard) -> bool {
    REMOVED.get() != Some(guard as u8)
}

#[cfg(debug_assertions)]
thread_local! {
    static REMOVED: std::cell::Cell<Option<u8>> = const { std::cell::Cell::new(None) };
}

/// Takes a rule away in this thread, or gives all back.
#[cfg(debug_assertions)]
pub fn remove(guard: Option<u8>) {
    REMOVED.set(guard);
}
