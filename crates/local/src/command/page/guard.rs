//! Checks of a page's requests beyond those of [`crate::serve`], because a page can change something, and shows text that
//! anybody wrote. Pure.
//!
//! - Requests that change something must be JSON, which no form of another site can send.
//! - No page can show this one in a frame. This page loads nothing from other places and runs only its own scripts.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// Headers of every answer.
const HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cache-control", "no-store"),
];

pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

/// Returns the reason for which a request is refused, if it is.
pub(super) fn refusal(method: &Method, headers: &HeaderMap) -> Option<(StatusCode, String)> {
    match *method {
        Method::GET | Method::HEAD => None,
        Method::POST if is_json(headers) => None,
        Method::POST => {
            Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type must be application/json".to_owned()))
        }
        _ => Some((StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not GET or POST"))),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_changes_something_must_be_json() {
        for (expected, method, content_type) in [
            (None, Method::GET, None),
            (None, Method::HEAD, None),
            (None, Method::POST, Some("application/json")),
            (None, Method::POST, Some("Application/JSON; charset=utf-8")),
            (Some(415), Method::POST, None),
            (Some(415), Method::POST, Some("text/plain")),
            (Some(415), Method::POST, Some("text/plain; application/json")),
            (Some(405), Method::PUT, Some("application/json")),
            (Some(405), Method::DELETE, Some("application/json")),
            (Some(405), Method::OPTIONS, None),
        ] {
            let content_types = content_type.map(|text| (CONTENT_TYPE, HeaderValue::from_static(text)));
            let refused = refusal(&method, &content_types.into_iter().collect());
            let status = refused.map(|(status, _)| status.as_u16());
            assert_eq!(status, expected, "{method} {content_type:?}");
        }
    }
}
