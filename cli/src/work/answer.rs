//! What the answer of an app means for the messages of its request. Pure.

use std::time::{Duration, SystemTime};

use redrive::Failure;

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Response(Response),
    /// No connection was made.
    Away(String),
    /// The connection ended before a response, or with something that is not HTTP.
    Broken(String),
    /// The request was canceled after its time limit.
    TimedOut(Duration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    /// As the app wrote it.
    pub(super) retry_after: Option<String>,
    /// As much as was read of it.
    pub(super) body: Vec<u8>,
    /// Whether that is all of it.
    pub(super) is_complete: bool,
}

/// Of a body in a log and a note. redrive cuts errors to 256 characters.
const LONGEST: usize = 1_024;

impl Answer {
    /// The response, if its messages are done as far as the status says.
    ///
    /// # Errors
    /// What happens to the messages instead.
    pub(super) fn success(self, now: SystemTime) -> Result<Response, Failure> {
        match self {
            Self::Response(response) => match response.failure(now) {
                None => Ok(response),
                Some(failure) => Err(failure),
            },
            Self::Away(error) => Err(Failure::outage(error)),
            Self::Broken(error) => Err(Failure::from(error).with_reason("broken-response")),
            Self::TimedOut(limit) => {
                let error = format!("time limit of {}", humantime::format_duration(limit));
                Err(Failure::from(error).with_reason("timeout"))
            }
        }
    }
}

impl Response {
    fn failure(&self, now: SystemTime) -> Option<Failure> {
        let after = self.retry_after.as_deref().and_then(|text| retry_after(text, now));
        let failure = match (self.status, after) {
            (200..=299, _) => return None,
            (422, _) => Failure::reject(self.error()),
            (429 | 503, Some(after)) => Failure::retry_after(after, self.error()),
            (503, None) => Failure::outage(self.error()),
            _ => Failure::from(self.error()),
        };
        Some(failure.with_reason(format!("http-{}", self.status)))
    }

    fn error(&self) -> String {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(LONGEST)]);
        match text.trim() {
            "" => format!("HTTP {}", self.status),
            text => format!("HTTP {}: {text}", self.status),
        }
    }
}

/// Seconds, or a date. No time is as good as none given: messages would use up their deliveries at once.
/// <https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>
fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than fit into the type is more than SQS allows.
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
        match answer.success(SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)) {
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
            (502, Some("5"), "", "retry, http-502, HTTP 502"),
            (503, None, "", "outage, http-503, HTTP 503"),
            (503, Some("120"), "", "retry after 120s, http-503, HTTP 503"),
            (503, Some("soon"), "", "outage, http-503, HTTP 503"),
            (503, Some("Sun, 06 Nov 1994 08:50:37 GMT"), "", "retry after 60s, http-503, HTTP 503"),
            (503, Some("Sunday, 06-Nov-94 08:49:38 GMT"), "", "retry after 1s, http-503, HTTP 503"),
            (503, Some("Sun, 06 Nov 1994 08:00:00 GMT"), "", "outage, http-503, HTTP 503"),
            (503, Some("0"), "", "outage, http-503, HTTP 503"),
            (429, Some("0"), "", "retry, http-429, HTTP 429"),
            (503, Some("99999999999999999999999"), "", "retry after 4294967295s, http-503, HTTP 503"),
        ] {
            assert_eq!(told(response(status, after, body)), expected, "{status} {after:?}");
        }
    }

    #[test]
    fn without_a_response_the_app_may_be_away() {
        for (answer, expected) in [
            (Answer::Away("connection refused".to_owned()), "outage, no reason, connection refused"),
            (Answer::Broken("not HTTP".to_owned()), "retry, broken-response, not HTTP"),
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
