//! Who may talk to the page: it can send messages, so that no other site may reach it through a browser. Pure.
//!
//! - A name that an attacker makes point to this machine (DNS rebinding) stands in `Host`, which must be loopback's.
//! - A request that another site makes has that site's `Origin`, or `Sec-Fetch-Site` says so.
//! - What changes something must be JSON, which no form of another site can send.
//! - No page can hold this one in a frame, and this one loads nothing from elsewhere and runs no script but its own.

use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

/// On every answer.
pub(super) const HEADERS: [(&str, &str); 8] = [
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

/// Why a request is refused, if it is.
pub(super) fn refusal(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<(StatusCode, String)> {
    let forbidden = |what: String| Some((StatusCode::FORBIDDEN, what));
    let host = text(headers, &HOST).unwrap_or_default();
    for named in [Some(host), uri.authority().map(|authority| authority.as_str())].into_iter().flatten() {
        if !is_loopback(named) {
            return forbidden(format!("host {named:?} is not 127.0.0.1 or localhost"));
        }
    }
    let origin = text(headers, &ORIGIN);
    if let Some(origin) = origin.filter(|origin| *origin != format!("http://{host}")) {
        return forbidden(format!("origin {origin:?} is not this page"));
    }
    let site = text(headers, &HeaderName::from_static("sec-fetch-site"));
    if let Some(site) = site.filter(|site| !matches!(*site, "same-origin" | "none")) {
        return forbidden(format!("a request from another site ({site}) is refused"));
    }
    match *method {
        Method::GET | Method::HEAD => None,
        Method::POST if is_json(text(headers, &CONTENT_TYPE).unwrap_or_default()) => None,
        Method::POST => {
            Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type must be application/json".to_owned()))
        }
        _ => Some((StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not GET or POST"))),
    }
}

fn is_loopback(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_port && (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
}

fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

/// A header that is no text is as wrong as any other text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &Method, headers: &[(&'static str, &'static str)]) -> u16 {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        refusal(method, &Uri::from_static("/messages"), &headers.collect())
            .map_or(200, |(status, _)| status.as_u16())
    }

    #[test]
    fn only_the_page_itself_and_programs_of_this_machine_may_ask() {
        let host = ("host", "127.0.0.1:8080");
        let json = ("content-type", "application/json");
        for (expected, method, headers) in [
            (200, Method::GET, &[host][..]),
            (200, Method::GET, &[("host", "localhost:9000")]),
            (200, Method::GET, &[("host", "LOCALHOST")]),
            (200, Method::GET, &[host, ("sec-fetch-site", "none")]),
            (403, Method::GET, &[]),
            (403, Method::GET, &[("host", "evil.example:8080")]),
            (403, Method::GET, &[("host", "127.0.0.1.evil.example")]),
            (403, Method::GET, &[("host", "localhost:")]),
            (403, Method::GET, &[("host", "evil.example@127.0.0.1:8080")]),
            (403, Method::GET, &[host, ("sec-fetch-site", "cross-site")]),
            (403, Method::GET, &[host, ("sec-fetch-site", "same-site")]),
            (403, Method::GET, &[host, ("origin", "http://evil.example")]),
            (403, Method::GET, &[host, ("origin", "null")]),
            (403, Method::POST, &[host, json, ("origin", "http://localhost:8080")]),
            (403, Method::POST, &[host, json, ("origin", "https://127.0.0.1:8080")]),
            (403, Method::POST, &[host, json, ("origin", "http://127.0.0.1:8081")]),
            (
                200,
                Method::POST,
                &[host, json, ("origin", "http://127.0.0.1:8080"), ("sec-fetch-site", "same-origin")],
            ),
            (200, Method::POST, &[host, ("content-type", "application/json; charset=utf-8")]),
            (415, Method::POST, &[host, ("content-type", "text/plain")]),
            (415, Method::POST, &[host]),
            (405, Method::DELETE, &[host, json]),
            (405, Method::OPTIONS, &[host]),
        ] {
            assert_eq!(status(&method, headers), expected, "{method} {headers:?}");
        }
    }

    #[test]
    fn a_request_that_names_another_host_in_its_first_line_is_refused() {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("127.0.0.1:1"))]);
        let uri = Uri::from_static("http://evil.example/");
        assert!(refusal(&Method::GET, &uri, &headers).is_some());
    }
}
