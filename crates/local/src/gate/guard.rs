//! Decides which clients may call: programs of this machine, and pages that this machine serves. Any site in a browser can
//! send requests here, but each such request shows it in one of three headers. Pure.
//!
//! - `Host` or the request line has the name that an attacker points to this machine (DNS rebinding).
//! - `Origin` names the other site whose page sends a request, except for a GET without CORS, such as an image.
//! - `Sec-Fetch-Site` marks those too. Browsers send it only to loopback addresses and `localhost`, so other addresses that
//!   lead here (`0.0.0.0`, `[::ffff:127.0.0.1]`) are refused, and names that clients on other machines use need more.
//!   <https://w3c.github.io/webappsec-secure-contexts/#is-origin-trustworthy>

use std::net::{Ipv4Addr, Ipv6Addr};

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Request, Uri};
use redrive_sqs::Quoted;

use super::Callers;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns the reason for which a request is refused, if it is.
pub(super) fn refusal<B>(request: &Request<B>, callers: &Callers) -> Option<String> {
    let (uri, headers) = (request.uri(), request.headers());
    let host = only(headers, &HOST).unwrap_or_default();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_public = reads && callers.public.contains(&uri.path());
    for named in [Some(host), uri.authority().map(|authority| authority.as_str())].into_iter().flatten() {
        // No attacker can point an address to this machine. Probes call by it.
        if is_loopback(named) || is_public && is_address(named) {
            continue;
        }
        if !callers.hosts.iter().any(|host| is_named(named, host)) {
            let others = callers.hosts.iter().map(|host| format!(", or {host}")).collect::<String>();
            return Some(format!(
                "host {} is not localhost or a loopback address such as 127.0.0.1{others}",
                Quoted(named)
            ));
        }
        if !is_public && !is_signed(headers) {
            return Some(
                "it is not signed as AWS clients sign requests, so a page may have sent it".to_owned(),
            );
        }
    }
    refusal_of_page(host, headers)
}

/// Returns the reason for which a request of a page to this host is refused, if it is.
fn refusal_of_page(host: &str, headers: &HeaderMap) -> Option<String> {
    let origin = only(headers, &ORIGIN);
    if let Some(origin) = origin.filter(|origin| *origin != format!("http://{host}")) {
        return Some(format!("origin {} is not http://{host}", Quoted(origin)));
    }
    let site = only(headers, &SEC_FETCH_SITE);
    let site = site.filter(|site| !matches!(*site, "none" | "same-origin"));
    site.map(|site| format!("sec-fetch-site {} is not none or same-origin", Quoted(site)))
}

/// Returns true if a user followed a link on another site to `/`, in a tab and not in a frame. The caller still checks
/// `Host`.
pub(super) fn is_link(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut direct = headers.clone();
    direct.remove(SEC_FETCH_SITE);
    let says = |name: &'static str, value| only(headers, &HeaderName::from_static(name)) == Some(value);
    let host = only(headers, &HOST).unwrap_or_default();
    uri.path() == "/"
        && is_loopback(host)
        && uri.authority().is_none_or(|named| is_loopback(named.as_str()))
        && refusal_of_page(host, &direct).is_none()
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
}

/// Returns the name in a host with or without a port, if the port is a number.
fn name_of(host: &str) -> Option<&str> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !host.ends_with(']') => (name, port),
        Some(_) | None => (host, "0"),
    };
    (!port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

/// Returns true if a client has signed a request, which no page of another site can, because browsers ask the server first.
/// Whether the signature is right does not matter.
fn is_signed(headers: &HeaderMap) -> bool {
    only(headers, &AUTHORIZATION).is_some_and(|value| value.starts_with("AWS4-"))
}

fn is_named(host: &str, name: &str) -> bool {
    name_of(host).is_some_and(|it| it.eq_ignore_ascii_case(name))
}

fn is_address(host: &str) -> bool {
    name_of(host).is_some_and(|name| {
        let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        v6.map_or_else(|| name.parse::<Ipv4Addr>().is_ok(), |address| address.parse::<Ipv6Addr>().is_ok())
    })
}

fn is_loopback(host: &str) -> bool {
    let Some(name) = name_of(host) else { return false };
    let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    match v6 {
        Some(address) => address.parse() == Ok(Ipv6Addr::LOCALHOST),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        }
    }
}

/// Returns a header's value. A value that is not text or appears twice is as wrong as any other.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_some() { "?" } else { first.to_str().unwrap_or("?") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "/123456789012/orders?Action=DeleteQueue";

    #[track_caller]
    fn check(line: &str, headers: &[(&'static str, &'static str)], expected: Option<&str>) {
        check_for(&Callers::default(), "GET", line, headers, expected);
    }

    #[track_caller]
    fn check_for(
        callers: &Callers,
        method: &str,
        line: &str,
        headers: &[(&'static str, &'static str)],
        expected: Option<&str>,
    ) {
        let request = Request::builder().method(method).uri(line);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, value.as_bytes()));
        let refusal = refusal(&request.body(()).unwrap(), callers);
        assert_eq!(refusal.as_deref(), expected, "{method} {line} {headers:?}");
    }

    #[test]
    fn this_machine_is_asked_by_its_own_name() {
        for host in [
            "127.0.0.1:9324",
            "127.0.0.1",
            "127.1.2.3:9324",
            "[::1]:9324",
            "[::1]",
            "[0:0:0:0:0:0:0:1]:1",
            "localhost",
            "localhost:9000",
            "LOCALHOST:9000",
        ] {
            check(LINE, &[("host", host)], None);
        }
    }

    #[test]
    fn other_hosts_and_unusual_loopback_addresses_are_refused() {
        for host in [
            "",
            ":9324",
            "evil.example:9324",
            "127.0.0.1.evil.example",
            "localhost.evil.example:9324",
            "evil.localhost:9324",
            "localhost.:9324",
            "localhost:",
            "localhost:port",
            "localhost:+1",
            "127.0.0.1:1:2",
            "evil.example@127.0.0.1:9324",
            "127.0.0.1 ",
            "127.1",
            "0177.0.0.1",
            "2130706433",
            "0.0.0.0:9324",
            "10.0.0.1:9324",
            "::1",
            "[::]:9324",
            "[::ffff:127.0.0.1]:9324",
            "[::1]x:9324",
            "[fe80::1%25lo]:9324",
            "[::1",
            "host.docker.internal:9324",
        ] {
            let expected = format!("host {host:?} is not localhost or a loopback address such as 127.0.0.1");
            check(LINE, &[("host", host)], Some(&expected));
        }
        check(LINE, &[], Some("host \"\" is not localhost or a loopback address such as 127.0.0.1"));
        for twice in ["evil.example", "127.0.0.1:9324"] {
            let twice = [("host", "127.0.0.1:9324"), ("host", twice)];
            check(LINE, &twice, Some("host \"?\" is not localhost or a loopback address such as 127.0.0.1"));
        }
        let latin = [("host", "ö")];
        check(LINE, &latin, Some("host \"?\" is not localhost or a loopback address such as 127.0.0.1"));
    }

    #[test]
    fn the_request_line_may_name_a_host_as_well() {
        let host = [("host", "127.0.0.1:9324")];
        check("http://127.0.0.1:9324/", &host, None);
        check("http://localhost/", &host, None);
        let expected = "host \"evil.example\" is not localhost or a loopback address such as 127.0.0.1";
        check("http://evil.example/", &host, Some(expected));
        check("http://127.0.0.1/", &[("host", "evil.example")], Some(expected));
        let expected = "host \"evil.example:80\" is not localhost or a loopback address such as 127.0.0.1";
        check("evil.example:80", &host, Some(expected));
    }

    #[test]
    fn an_origin_is_that_of_the_host() {
        let host = ("host", "127.0.0.1:9324");
        check(LINE, &[host, ("origin", "http://127.0.0.1:9324")], None);
        check(LINE, &[("host", "[::1]:1"), ("origin", "http://[::1]:1")], None);
        for origin in [
            "",
            "null",
            "http://evil.example",
            "http://localhost:9324",
            "http://127.0.0.1",
            "http://127.0.0.1:93240",
            "https://127.0.0.1:9324",
            "file://",
            "chrome-extension://abc",
        ] {
            let expected = format!("origin {origin:?} is not http://127.0.0.1:9324");
            check(LINE, &[host, ("origin", origin)], Some(&expected));
        }
        let twice = [host, ("origin", "http://127.0.0.1:9324"), ("origin", "http://evil.example")];
        check(LINE, &twice, Some("origin \"?\" is not http://127.0.0.1:9324"));
    }

    #[test]
    fn clients_on_other_machines_use_a_name_that_is_allowed() {
        let hosts = ["redrive".to_owned(), "10.0.0.7".to_owned()];
        let callers = Callers { hosts: hosts.into(), public: &["/health"], on_link: None };
        let signed = ("authorization", "AWS4-HMAC-SHA256 Credential=a/20261130/x/sqs/aws4_request");
        for host in
            ["redrive:4566", "redrive", "REDRIVE:4566", "10.0.0.7:4566", "localhost:4566", "127.0.0.1"]
        {
            check_for(&callers, "POST", LINE, &[("host", host), signed], None);
        }
        for host in
            ["evil.example:4566", "redrive.evil.example", "redrive.", "redrive:x", "10.0.0.8:4566", "0.0.0.0"]
        {
            let expected = format!(
                "host {host:?} is not localhost or a loopback address such as 127.0.0.1, or redrive, or 10.0.0.7"
            );
            check_for(&callers, "POST", LINE, &[("host", host), signed], Some(&expected));
        }
        let (host, other) = (("host", "redrive:4566"), ("origin", "http://evil.example"));
        check_for(&callers, "POST", LINE, &[host, signed, ("origin", "http://redrive:4566")], None);
        let expected = "origin \"http://evil.example\" is not http://redrive:4566";
        check_for(&callers, "POST", LINE, &[host, signed, other], Some(expected));
        check_for(&callers, "GET", "/health", &[host, other], Some(expected));
        // A probe of Kubernetes calls by the address of the pod. An attacker could point a name here.
        check_for(&callers, "GET", "/health", &[("host", "10.1.2.3:4566")], None);
        check_for(&callers, "GET", "/health", &[("host", "[fd00::7]:4566")], None);
        let expected = "host \"evil.example\" is not localhost or a loopback address such as 127.0.0.1, or redrive, or 10.0.0.7";
        check_for(&callers, "GET", "/health", &[("host", "evil.example")], Some(expected));
        // An image of a page has no origin, and some browsers send none with a form.
        let unsigned = "it is not signed as AWS clients sign requests, so a page may have sent it";
        for method in ["GET", "HEAD", "POST", "PUT", "OPTIONS", "get"] {
            check_for(&callers, method, LINE, &[host, signed], None);
            check_for(&callers, method, LINE, &[("host", "localhost:4566")], None);
            for wrong in ["", "Basic YTpi", "Bearer AWS4-"] {
                check_for(&callers, method, LINE, &[host, ("authorization", wrong)], Some(unsigned));
            }
            check_for(&callers, method, LINE, &[host], Some(unsigned));
            let health = (!matches!(method, "GET" | "HEAD")).then_some(unsigned);
            check_for(&callers, method, "/health", &[host], health);
        }
    }

    #[test]
    fn a_browser_says_that_no_other_site_asks() {
        let host = ("host", "127.0.0.1:9324");
        for site in ["none", "same-origin"] {
            check(LINE, &[host, ("sec-fetch-site", site)], None);
        }
        for site in ["cross-site", "same-site", "", "Same-Origin"] {
            let expected = format!("sec-fetch-site {} is not none or same-origin", Quoted(site));
            check(LINE, &[host, ("sec-fetch-site", site)], Some(&expected));
        }
    }
}
