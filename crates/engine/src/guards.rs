//! Conditions that keep messages safe. The explorer can switch off each, to show that it finds the faults that follow.

/// A condition that the explorer can switch off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// A failed message is not deleted.
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
    /// A lease that has ended is lost, even if a later answer extends it.
    LeasesEndFirst,
    /// A handler is polled only while the lease of its message holds.
    PollWhileLeased,
    /// A message that is over and is received again is deleted, and does not run.
    FinishedIsKnown,
    /// Only the end of the message that tries a dependency lets the next one try.
    TrialEndsRest,
    /// A message that is received again while its handler runs is ignored.
    SecondReceiveIsIgnored,
    /// Messages behind one that gets a letter wait until it is written.
    FollowersWait,
    /// The letters of a group are written one by one.
    LettersInTurn,
    /// Messages that are received after the end of their leases are dropped.
    LateReceiveIsDropped,
    /// A lease begins when its receive was sent.
    LeaseFromTheStart,
    /// No message begins after the stop.
    NoneAfterTheStop,
    /// A message that may have ended a process runs alone.
    SuspectsRunAlone,
    /// No message runs while a dependency of it is down.
    NoneWhileDown,
    /// A message whose handler blocks is left alone.
    BlockedIsLeft,
    /// The tail of a group returns first.
    TailFirst,
    /// No call is made right before the end of a lease.
    NoneTooLate,
}

/// `guard!(Name, condition)`: the condition under which a guard acts. False if the guard is switched off.
macro_rules! guard {
    ($guard:ident, $condition:expr) => {
        $condition && $crate::guards::holds($crate::guards::Guard::$guard)
    };
}

/// `require!(Name, condition)`: the condition that a guard requires. True if the guard is switched off.
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

/// Switches off a guard in this thread, or switches all on again.
#[cfg(debug_assertions)]
pub fn remove(guard: Option<u8>) {
    REMOVED.set(guard);
}
