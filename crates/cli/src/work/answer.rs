//! Interprets the answer of an app for the messages of its request. Pure.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use redrive::Failure;
use redrive::tools::{ExitMeaning, ForeignError};

use super::exit::once_each;

/// Decides what answers mean for their messages, and whether the app refuses all messages.
#[derive(Debug, Default)]
pub(super) struct Judge {
    /// Meanings of statuses from the user.
    statuses: BTreeMap<u16, ExitMeaning>,
    /// True for a FIFO queue. A failed message blocks its group there, so each refusal counts instead of each message.
    is_fifo: bool,
    /// Ids and statuses of messages that were refused since the last success, at most [`DOWN`].
    refused: Vec<(String, u16)>,
    /// Statuses that perhaps only some messages get, and the times of the first refusals.
    perhaps_of_some: BTreeMap<u16, SystemTime>,
    /// Statuses that only some messages get, and the times until which that is certain.
    of_some: BTreeMap<u16, SystemTime>,
}

/// Number of refused messages in a row from which the messages are not at fault, and wait.
const OUTAGE: usize = 3;
/// Number of them from which the app is down. Below it, statuses that only some messages get do not count.
const DOWN: usize = 30;
/// Time for which a success proves that only some messages get a status.
const KNOWN: Duration = Duration::from_secs(600);
/// Status for an answer that is not HTTP.
const FOREIGN: u16 = 0;
/// Dependency of refused messages. No other message depends on it, so the others do not wait.
const REFUSES: &str = "the app, for some messages";

/// Messages in a row that were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// They are at fault.
    Few,
    /// They wait, and others may be accepted.
    Many,
    /// The app is down.
    All,
}

/// The messages of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) ids: &'a [&'a str],
    /// The largest receive count.
    pub(super) attempt: u32,
    /// When it was sent.
    pub(super) sent: SystemTime,
}

/// A status and its meaning, as typed.
pub(super) fn status(text: &str) -> Result<(u16, ExitMeaning), String> {
    let parsed = text.split_once('=').and_then(|(status, meaning)| {
        let status = status.parse().ok().filter(|status| (200..=599).contains(status))?;
        Some((status, meaning.parse().ok()?))
    });
    let allowed = ExitMeaning::ALLOWED;
    parsed.ok_or_else(|| format!("allowed: a status from 200 to 599, = and {allowed}, such as 404=reject"))
}

impl Judge {
    /// Creates a judge with the user's meanings of statuses.
    ///
    /// # Errors
    /// Two meanings of one status.
    pub(super) fn new(statuses: &[(u16, ExitMeaning)]) -> anyhow::Result<Self> {
        Ok(Self { statuses: once_each("--status", statuses)?, ..Self::default() })
    }

    /// Sets the type of the queue.
    pub(super) fn of_queue(self, is_fifo: bool) -> Self {
        Self { is_fifo, ..self }
    }

    /// Returns the response if its status means that the messages are done.
    ///
    /// # Errors
    /// The failure of the messages otherwise.
    pub(super) fn success(
        &mut self,
        answer: Answer,
        request: Request<'_>,
        now: SystemTime,
    ) -> Result<Response, Failure> {
        let Request { ids, attempt, sent } = request;
        let response = self.response(answer, ids, now)?;
        let known = self.statuses.get(&response.status).copied().or_else(|| response.meaning(now));
        let refused = match known {
            None if !response.is_about_the_message() => self.refused(response.status, ids, now),
            _ => Refused::Few,
        };
        let meaning = match (known, refused) {
            (Some(meaning), _) => meaning,
            (None, Refused::Few) => ExitMeaning::Retry,
            (None, Refused::Many | Refused::All) => ExitMeaning::Outage,
        };
        let meaning = match meaning {
            ExitMeaning::Done if response.is_success() => ExitMeaning::Done,
            // Frameworks answer with 422 for one bad message among many.
            ExitMeaning::Done | ExitMeaning::Reject | ExitMeaning::Discard if ids.len() > 1 => {
                ExitMeaning::Retry
            }
            meaning => meaning,
        };
        if meaning == ExitMeaning::Done {
            self.succeeded(sent, now);
        }
        let ended = response.end(meaning, attempt, now);
        if refused == Refused::Many { ended.map_err(|failure| failure.on_dependency(REFUSES)) } else { ended }
    }

    fn response(&mut self, answer: Answer, ids: &[&str], now: SystemTime) -> Result<Response, Failure> {
        Err(match answer {
            Answer::Response(response) => return Ok(response),
            Answer::Away(error) => Failure::outage(ForeignError::new("away", error)),
            Answer::Broken(error) => failure(BROKEN, error),
            Answer::Foreign(error) => match self.refused(FOREIGN, ids, now) {
                Refused::All => Failure::outage(failure(BROKEN, error)),
                Refused::Few | Refused::Many => {
                    Failure::outage(failure(BROKEN, error)).on_dependency(REFUSES)
                }
            },
            Answer::TimedOut(limit) => {
                failure("timeout", format!("time limit of {}", humantime::format_duration(limit)))
            }
        })
    }

    /// Counts the messages of a refused request, and returns how many were refused in a row.
    fn refused(&mut self, status: u16, ids: &[&str], now: SystemTime) -> Refused {
        for &id in ids {
            // The same message may be at fault each time.
            let is_new = self.is_fifo || self.refused.iter().all(|(refused, _)| refused != id);
            if is_new && self.refused.len() < DOWN {
                self.refused.push((id.to_owned(), status));
            }
        }
        self.of_some.retain(|_, until| *until > now);
        let proves = |status| !self.of_some.contains_key(&status);
        let refused = match self.refused.iter().filter(|(_, status)| proves(*status)).count() {
            _ if self.refused.len() == DOWN => Refused::All,
            OUTAGE.. if proves(status) => Refused::Many,
            _ => Refused::Few,
        };
        if refused == Refused::Few {
            self.perhaps_of_some.entry(status).or_insert(now);
        } else {
            self.perhaps_of_some.remove(&status);
            self.of_some.remove(&status);
        }
        refused
    }

    /// Records a success. If its request was sent before a message was refused, it proves nothing about that status.
    fn succeeded(&mut self, sent: SystemTime, now: SystemTime) {
        self.refused.clear();
        let proven = self.perhaps_of_some.extract_if(.., |_, first| *first <= sent);
        self.of_some.extend(proven.map(|(status, _)| (status, now + KNOWN)));
    }
}

/// Result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Response(Response),
    /// No connection was made.
    Away(String),
    /// The connection ended before a response.
    Broken(String),
    /// Something that is not HTTP.
    Foreign(String),
    /// The request was canceled after its time limit.
    TimedOut(Duration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    /// The header `Retry-After` as the app wrote it.
    pub(super) retry_after: Option<String>,
    /// The part of the body that was read.
    pub(super) body: Vec<u8>,
    /// True if that is the whole body.
    pub(super) is_complete: bool,
}

/// Bytes of a body in a log and a note. redrive cuts errors to 256 characters.
const LONGEST: usize = 1_024;

impl Answer {
    pub(super) fn is_too_large(&self) -> bool {
        matches!(self, Self::Response(Response { status: 413, .. }))
    }
}

impl Response {
    fn is_success(&self) -> bool {
        (200..=299).contains(&self.status)
    }

    /// Returns true if the body of a message can cause the status: a sender must not stop the queue for all.
    fn is_about_the_message(&self) -> bool {
        matches!(self.status, 400 | 413 | 415 | 500)
    }

    /// Returns the status's own meaning. Proxies answer with 502 and 504 while the app behind them is away.
    fn meaning(&self, now: SystemTime) -> Option<ExitMeaning> {
        match self.status {
            _ if self.is_success() => Some(ExitMeaning::Done),
            422 => Some(ExitMeaning::Reject),
            429 => self.retry_after(now).map(|_| ExitMeaning::Retry),
            502..=504 => Some(ExitMeaning::Outage),
            _ => None,
        }
    }

    fn end(self, meaning: ExitMeaning, attempt: u32, now: SystemTime) -> Result<Self, Failure> {
        let reason = format!("http-{}", self.status);
        let error = ForeignError::new(&reason, self.error());
        let result = match (meaning, self.retry_after(now)) {
            // A server that always says one second would use up all deliveries in seconds.
            (ExitMeaning::Retry, Some(after)) => {
                Err(Failure::retry_after(after.max(Duration::from_secs(1 << attempt.clamp(1, 9))), error))
            }
            _ => meaning.result(error, attempt),
        };
        match result {
            Ok(()) if self.is_success() => Ok(self),
            // Such a body is not the result of a batch.
            Ok(()) => Ok(Self { body: Vec::new(), is_complete: true, ..self }),
            Err(failure) => Err(failure.with_reason(reason)),
        }
    }

    /// Returns the time of `Retry-After` if the status may have it.
    fn retry_after(&self, now: SystemTime) -> Option<Duration> {
        let text = self.retry_after.as_deref().filter(|_| matches!(self.status, 429 | 502..=504));
        text.and_then(|text| retry_after(text, now))
    }

    fn error(&self) -> String {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(LONGEST)]);
        match text.trim() {
            "" => format!("HTTP {}", self.status),
            text => format!("HTTP {}: {text}", self.status),
        }
    }
}

const BROKEN: &str = "broken-response";

/// Returns a retry. Programs have no types of errors, so the reason is the exception too.
pub(super) fn failure(reason: &'static str, error: String) -> Failure {
    Failure::from(ForeignError::new(reason, error)).with_reason(reason)
}

/// Parses seconds or a date. A time of zero counts as none: messages would use up their deliveries immediately.
/// <https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>
fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit into the type is more than SQS allows.
        let seconds = text.parse().unwrap_or(u64::from(u32::MAX));
        return Some(Duration::from_secs(seconds)).filter(|after| !after.is_zero());
    }
    let at = httpdate::parse_http_date(text).ok()?;
    at.duration_since(now).ok().filter(|after| !after.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const NOW: u64 = 784_111_777;

    fn told(answer: Answer) -> String {
        told_by(&mut Judge::default(), &["m-1"], answer)
    }

    fn told_by(judge: &mut Judge, ids: &[&str], answer: Answer) -> String {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        told_at(judge, ids, answer, now)
    }

    fn told_at(judge: &mut Judge, ids: &[&str], answer: Answer, now: SystemTime) -> String {
        match judge.success(answer, Request { ids, attempt: 1, sent: now }, now) {
            Ok(_) => "done".to_owned(),
            Err(failure) => {
                let ruling = match &failure {
                    it if it.is_rejection() => "reject".to_owned(),
                    it if it.is_outage() => "outage".to_owned(),
                    it => it.after().map_or("retry".to_owned(), |after| format!("retry after {after:?}")),
                };
                format!("{ruling}, {}, {failure}", failure.reason().unwrap_or("no reason"))
            }
        }
    }

    fn response(status: u16, retry_after: Option<&str>, body: &str) -> Answer {
        let retry_after = retry_after.map(str::to_owned);
        Answer::Response(Response { status, retry_after, body: body.as_bytes().to_vec(), is_complete: true })
    }

    #[test]
    fn the_status_says_what_happens_to_the_message() {
        for (status, after, body, expected) in [
            (200, None, "x", "done"),
            (204, Some("5"), "", "done"),
            (299, None, "", "done"),
            (301, None, "", "retry, http-301, HTTP 301"),
            (400, None, "", "retry, http-400, HTTP 400"),
            (404, Some("5"), "no such page\n", "retry, http-404, HTTP 404: no such page"),
            (422, None, " no such order\n", "reject, http-422, HTTP 422: no such order"),
            (422, Some("5"), "", "reject, http-422, HTTP 422"),
            (429, None, "", "retry, http-429, HTTP 429"),
            (429, Some("7"), "slow down", "retry after 7s, http-429, HTTP 429: slow down"),
            (429, Some("soon"), "", "retry, http-429, HTTP 429"),
            (429, Some(""), "", "retry, http-429, HTTP 429"),
            (429, Some("-1"), "", "retry, http-429, HTTP 429"),
            (500, None, "", "retry, http-500, HTTP 500"),
            (502, None, "", "outage, http-502, HTTP 502"),
            (502, Some("5"), "", "outage, http-502, HTTP 502"),
            (504, None, "", "outage, http-504, HTTP 504"),
            (505, None, "", "retry, http-505, HTTP 505"),
            (503, None, "", "outage, http-503, HTTP 503"),
            (503, Some("120"), "", "outage, http-503, HTTP 503"),
            (429, Some("Sun, 06 Nov 1994 08:50:37 GMT"), "", "retry after 60s, http-429, HTTP 429"),
            (429, Some("Sunday, 06-Nov-94 08:49:40 GMT"), "", "retry after 3s, http-429, HTTP 429"),
            (429, Some("Sun, 06 Nov 1994 08:00:00 GMT"), "", "retry, http-429, HTTP 429"),
            (429, Some("0"), "", "retry, http-429, HTTP 429"),
            (429, Some("1"), "", "retry after 2s, http-429, HTTP 429"),
            (429, Some("99999999999999999999999"), "", "retry after 4294967295s, http-429, HTTP 429"),
        ] {
            assert_eq!(told(response(status, after, body)), expected, "{status} {after:?}");
        }
    }

    #[test]
    fn three_messages_in_a_row_that_are_refused_mean_an_outage() {
        let (refused, done, outage) = ((404, "retry"), (200, "done"), (404, "outage"));
        for requests in [
            &[("a", refused), ("b", refused), ("c", outage), ("a", outage), ("d", (301, "outage"))][..],
            &[
                ("a", (401, "retry")),
                ("b", (405, "retry")),
                ("c", (301, "outage")),
                ("c", done),
                ("d", refused),
            ],
            &[("a", refused), ("b", refused), ("c", outage), ("d", done), ("e", refused), ("f", refused)],
            &[("a", refused), ("a", refused), ("b", refused), ("a", refused), ("b", refused)],
            &[("a b", refused), ("b a", refused), ("a c", outage), ("d", outage)],
            &[("a b c", outage), ("d e f", (401, "outage")), ("g", done), ("a b", refused)],
            &[("a", (500, "retry")), ("b", (400, "retry")), ("c", (500, "retry")), ("d", (415, "retry"))],
            &[("a", (422, "reject")), ("b", (422, "reject")), ("c", (422, "reject")), ("d", refused)],
            &[("a b", (422, "retry")), ("c d", (422, "retry")), ("e f", (422, "retry"))],
        ] {
            let mut judge = Judge::default();
            for (at, (ids, (status, expected))) in requests.iter().enumerate() {
                let ids: Vec<_> = ids.split(' ').collect();
                let told = told_by(&mut judge, &ids, response(*status, None, ""));
                assert_eq!(told.split(',').next(), Some(*expected), "{at} of {requests:?}");
            }
        }
    }

    /// Returns the results of messages in a row with one status: `r` retry, `w` they wait alone, `o` an outage of the app.
    fn in_a_row(judge: &mut Judge, prefix: &str, count: usize, status: u16, seconds: u64) -> String {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW + seconds);
        let mut one = |number| {
            if status == 200 {
                judge.succeeded(now, now);
                return 'd';
            }
            match judge.refused(status, &[&format!("{prefix}-{number}")], now) {
                Refused::Few => 'r',
                Refused::Many => 'w',
                Refused::All => 'o',
            }
        };
        (0..count).map(&mut one).collect()
    }

    #[test]
    fn only_after_thirty_messages_in_a_row_do_the_others_wait_too() {
        let mut judge = Judge::default();
        let all = format!("rr{}ooo", "w".repeat(27));
        assert_eq!(in_a_row(&mut judge, "a", 32, 401, 0), all);
        assert_eq!(in_a_row(&mut judge, "a", 2, 404, 0), "oo");
        assert_eq!(in_a_row(&mut judge, "done", 1, 200, 0), "d");
        assert_eq!(in_a_row(&mut judge, "b", 32, 401, 0), all, "what was an outage may be one again");
    }

    #[test]
    fn a_status_that_only_some_messages_get_is_their_fault_for_ten_minutes() {
        let mut judge = Judge::default();
        assert_eq!(in_a_row(&mut judge, "bad", 1, 409, 0), "r");
        assert_eq!(in_a_row(&mut judge, "good", 1, 200, 1), "d");
        assert_eq!(in_a_row(&mut judge, "bad", 29, 409, 300), "r".repeat(29));
        assert_eq!(in_a_row(&mut judge, "good", 1, 200, 301), "d");
        assert_eq!(in_a_row(&mut judge, "bad", 29, 409, 900), "r".repeat(29), "each success renews it");
        assert_eq!(in_a_row(&mut judge, "other", 2, 409, 900), "oo");
        assert_eq!(in_a_row(&mut judge, "good", 1, 200, 900), "d");
        assert_eq!(in_a_row(&mut judge, "bad", 1, 409, 900), "r");
        assert_eq!(in_a_row(&mut judge, "good", 1, 200, 900), "d");
        assert_eq!(in_a_row(&mut judge, "bad", 4, 409, 1_500), "rrww", "it is forgotten");
        let mut judge = Judge::default();
        let told = [("bad", 1, 409), ("good", 1, 200), ("bad", 9, 409), ("a", 4, 401)]
            .map(|(prefix, count, status)| in_a_row(&mut judge, prefix, count, status, 1));
        assert_eq!(told, ["r", "d", "rrrrrrrrr", "rrww"], "they do not count for another status");
    }

    #[test]
    fn a_request_that_was_sent_before_a_refusal_proves_nothing() {
        let mut judge = Judge::default();
        assert_eq!(in_a_row(&mut judge, "a", 2, 401, 10), "rr");
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(NOW + seconds);
        let request = Request { ids: &["slow"], attempt: 1, sent: at(9) };
        assert!(judge.success(response(200, None, ""), request, at(11)).is_ok());
        assert_eq!(in_a_row(&mut judge, "b", 4, 401, 11), "rrww");
    }

    /// The app refuses the first message again and again, and the others would use up deliveries.
    #[test]
    fn a_group_waits_after_three_refusals_of_its_first_message() {
        let mut judge = Judge::default().of_queue(true);
        let told: String = (0..31).map(|_| in_a_row(&mut judge, "a", 1, 401, 0)).collect();
        assert_eq!(told, format!("rr{}oo", "w".repeat(27)));
    }

    #[test]
    fn a_status_means_what_the_user_says() {
        let statuses = ["404=reject", "409=done", "401=retry", "503=retry", "202=outage"].map(status);
        let mut judge = Judge::new(&statuses.map(Result::unwrap)).unwrap();
        for (status, after, expected) in [
            (404, None, "reject, http-404, HTTP 404: x"),
            (409, None, "done"),
            (503, None, "retry, http-503, HTTP 503: x"),
            (503, Some("7"), "retry after 7s, http-503, HTTP 503: x"),
            (503, Some("1"), "retry after 2s, http-503, HTTP 503: x"),
            (202, None, "outage, http-202, HTTP 202: x"),
            (200, None, "done"),
        ] {
            assert_eq!(told_by(&mut judge, &["a"], response(status, after, "x")), expected);
        }
        for (status, expected) in
            [(404, "retry, http-404, HTTP 404"), (409, "retry, http-409, HTTP 409"), (200, "done")]
        {
            assert_eq!(
                told_by(&mut judge, &["a", "b"], response(status, None, "")),
                expected,
                "one of two may be meant"
            );
        }
        for id in ["a", "b", "c", "d"] {
            let told = told_by(&mut judge, &[id], response(401, None, ""));
            assert_eq!(told, "retry, http-401, HTTP 401", "it is never an outage");
        }
        assert!(Judge::new(&[(404, ExitMeaning::Reject), (404, ExitMeaning::Done)]).is_err());
        for wrong in ["404", "199=done", "600=done", "404=drop", "=done", "x=done"] {
            assert!(status(wrong).is_err_and(|error| error.contains("200 to 599")), "{wrong}");
        }
    }

    #[test]
    fn without_a_response_the_app_may_be_away() {
        for (answer, expected) in [
            (Answer::Away("connection refused".to_owned()), "outage, no reason, connection refused"),
            (Answer::Broken("closed".to_owned()), "retry, broken-response, closed"),
            (Answer::Foreign("not HTTP".to_owned()), "outage, broken-response, not HTTP"),
            (Answer::TimedOut(Duration::from_secs(90)), "retry, timeout, time limit of 1m 30s"),
        ] {
            assert_eq!(told(answer), expected);
        }
    }

    #[test]
    fn a_long_body_is_cut() {
        let error = told(response(422, None, &"é".repeat(LONGEST)));
        assert!(error.len() < 2 * LONGEST, "{} bytes", error.len());
    }
}
