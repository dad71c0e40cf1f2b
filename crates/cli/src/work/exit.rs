//! Interprets the end of a program for its message. Pure.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use anyhow::bail;
use redrive::Failure;
pub(crate) use redrive::tools::ExitMeaning;
use redrive::tools::ForeignError;

/// The end of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(super) how: How,
    /// Last line of its standard error, empty if there was none.
    pub(super) last_line: String,
    /// True if it did not read its message, which no variable has either.
    pub(super) has_missed_it: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Exit(u8),
    Signal(i32),
    /// It was stopped after its time limit.
    TimedOut(Duration),
}

/// Reason for a program that succeeded without reading its message.
const UNREAD: &str = "unread";

/// Parses a code and its meaning.
pub(super) fn code(text: &str) -> Result<(u8, ExitMeaning), String> {
    let parsed =
        text.split_once('=').and_then(|(code, meaning)| Some((code.parse().ok()?, meaning.parse().ok()?)));
    let allowed = ExitMeaning::ALLOWED;
    parsed.ok_or_else(|| format!("allowed: an exit code from 0 to 255, = and {allowed}, such as 75=outage"))
}

/// The exit codes that do not mean a retry.
#[derive(Debug, Clone)]
pub(super) struct Codes(BTreeMap<u8, ExitMeaning>);

impl Codes {
    /// Returns the codes of ecs-watchbot, with changes.
    ///
    /// # Errors
    /// A code has two changes.
    ///
    /// <https://github.com/mapbox/ecs-watchbot/blob/master/docs/worker-runtime-details.md>
    pub(super) fn new(changes: &[(u8, ExitMeaning)]) -> anyhow::Result<Self> {
        let known = [(0, ExitMeaning::Done), (3, ExitMeaning::Reject), (4, ExitMeaning::Return)];
        Ok(Self(known.into_iter().chain(once_each("--exit", changes)?).collect()))
    }

    pub(super) fn result(&self, ended: Ended, attempt: u32) -> Result<(), Failure> {
        let Ended { how, last_line, has_missed_it } = ended;
        let (meaning, reason) = match how {
            How::Exit(code) => {
                (self.0.get(&code).copied().unwrap_or(ExitMeaning::Retry), format!("exit-{code}"))
            }
            How::Signal(signal) => (ExitMeaning::Retry, format!("signal-{signal}")),
            How::TimedOut(_) => (ExitMeaning::Retry, "timeout".to_owned()),
        };
        if has_missed_it && meaning == ExitMeaning::Done {
            let error = "the message is longer than 64 KiB, so there is no variable Message: read it from standard input";
            return Err(Failure::reject(ForeignError::new(UNREAD, error)).with_reason(UNREAD));
        }
        let how = match how {
            How::Exit(code) => format!("exit code {code}"),
            How::Signal(signal) => format!("killed by signal {signal}"),
            How::TimedOut(limit) => format!("time limit of {}", humantime::format_duration(limit)),
        };
        let error = if last_line.is_empty() { how } else { format!("{last_line} ({how})") };
        meaning
            .result(ForeignError::new(&reason, error), attempt)
            .map_err(|failure| failure.with_reason(reason))
    }
}

/// Collects the meanings from a flag.
///
/// # Errors
/// A code has two meanings.
pub(super) fn once_each<T: Copy + Display + Ord>(
    flag: &str,
    meanings: &[(T, ExitMeaning)],
) -> anyhow::Result<BTreeMap<T, ExitMeaning>> {
    for (at, (code, _)) in meanings.iter().enumerate() {
        if meanings[..at].iter().any(|(other, _)| other == code) {
            bail!("{flag} is set twice for {code}, allowed: once for each");
        }
    }
    Ok(meanings.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(codes: &Codes, how: How) -> String {
        let ended = Ended { how, last_line: "no such order".to_owned(), has_missed_it: false };
        match codes.result(ended, 3) {
            Ok(()) => "done".to_owned(),
            Err(failure) => format!("{failure:?}"),
        }
    }

    #[test]
    fn no_message_is_done_that_the_program_has_not_read() {
        let codes = Codes::new(&[]).unwrap();
        let missed = |how| Ended { how, last_line: String::new(), has_missed_it: true };
        let failure = codes.result(missed(How::Exit(0)), 1).unwrap_err();
        assert!(failure.is_rejection() && failure.to_string().contains("read it from standard input"));
        assert!(codes.result(missed(How::Exit(1)), 1).unwrap_err().is_retry());
    }

    #[test]
    fn exit_codes_mean_what_they_mean_to_ecs_watchbot() {
        let codes = Codes::new(&[]).unwrap();
        assert_eq!(told(&codes, How::Exit(0)), "done");
        assert!(told(&codes, How::Exit(3)).contains("Reject"), "{}", told(&codes, How::Exit(3)));
        assert!(told(&codes, How::Exit(4)).contains("Defer(8s)"), "{}", told(&codes, How::Exit(4)));
        for how in [How::Exit(1), How::Exit(255), How::Signal(9), How::TimedOut(Duration::from_secs(60))] {
            assert!(told(&codes, how).contains("Retry"), "{}", told(&codes, how));
        }
    }

    #[test]
    fn codes_can_be_given_another_meaning() {
        let codes = Codes::new(&[(75, ExitMeaning::Outage), (0, ExitMeaning::Retry), (3, ExitMeaning::Done)])
            .unwrap();
        assert!(Codes::new(&[(3, ExitMeaning::Done), (3, ExitMeaning::Reject)]).is_err());
        assert!(told(&codes, How::Exit(75)).contains("Outage"));
        assert!(told(&codes, How::Exit(0)).contains("Retry"));
        assert_eq!(told(&codes, How::Exit(3)), "done");
    }

    #[test]
    fn a_code_has_a_meaning() {
        assert_eq!(code("75=outage"), Ok((75, ExitMeaning::Outage)));
        for wrong in ["75", "256=done", "-1=done", "5=drop", "=done", "5="] {
            assert!(code(wrong).is_err_and(|error| error.contains("0 to 255")), "{wrong}");
        }
    }
}
