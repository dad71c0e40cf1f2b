//! Pages on loopback: their shared files, their protection against other sites, and their answers.

mod guard;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Largest request in bytes: more than SQS's largest message, 1 MiB of text, with every character escaped.
const LARGEST_REQUEST: usize = 8 << 20;

/// Path, content type and text of a file in the executable.
pub type File = (&'static str, &'static str, &'static str);

/// Includes a file of the folder `page` beside the source file.
#[doc(hidden)]
#[macro_export]
macro_rules! page_file {
    ($file:literal) => {
        (
            concat!("/", $file),
            $crate::command::page::content_type($file),
            include_str!(concat!("page/", $file)),
        )
    };
}

/// Files that all pages load.
pub const SHARED: &[File] = &[
    page_file!("chart.js"),
    page_file!("dialog.css"),
    page_file!("dom.js"),
    page_file!("favicon.svg"),
    page_file!("json.js"),
    page_file!("rows.js"),
    page_file!("span.js"),
    page_file!("theme.css"),
];

/// Returns a file's content type by its extension.
pub const fn content_type(file: &str) -> &'static str {
    match file.as_bytes() {
        [.., b'h', b't', b'm', b'l'] => "text/html; charset=utf-8",
        [.., b'c', b's', b's'] => "text/css; charset=utf-8",
        [.., b's', b'v', b'g'] => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}

/// Adds a page's own files and the shared ones to its routes. [`crate::serve`] keeps other sites away. Here, a request that
/// changes something must be JSON, and no page can show this one in a frame or make it load anything else.
pub fn guarded(routes: Router, files: &'static [File]) -> Router {
    let asset = async move |uri: Uri| find(files, uri.path());
    routes.fallback(asset).layer(DefaultBodyLimit::max(LARGEST_REQUEST)).layer(from_fn(guard))
}

async fn guard(request: Request, next: Next) -> Response {
    let refusal = guard::refusal(request.method(), request.headers());
    let mut response = match refusal {
        Some((status, reason)) => error(status, &reason),
        None => next.run(request).await,
    };
    guard::protect(response.headers_mut());
    response
}

fn find(files: &[File], path: &str) -> Response {
    let name = if path == "/" { "/index.html" } else { path };
    match files.iter().chain(SHARED).find(|(file, ..)| *file == name) {
        Some((_, kind, text)) => ([(CONTENT_TYPE, *kind)], *text).into_response(),
        None => error(StatusCode::NOT_FOUND, &format!("there is no {path}")),
    }
}

/// Returns the answer to a link on another site: a page that asks whether to follow it.
pub fn question(html: &'static str) -> Response {
    let mut response = (StatusCode::FORBIDDEN, [(CONTENT_TYPE, content_type(".html"))], html).into_response();
    guard::protect(response.headers_mut());
    response
}

/// Returns a refusal with its reason.
pub fn error(status: StatusCode, reason: &str) -> Response {
    respond(status, &json!({ "error": reason }))
}

pub fn respond(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// Compares the files of a page with its folder, and checks that they obey its policy. For tests.
///
/// # Panics
/// Panics if a file is not served, loads something from another place, or makes HTML of data.
#[doc(hidden)]
pub fn check_files(folder: &std::path::Path, files: &[File]) {
    use std::collections::BTreeSet;
    let entries = std::fs::read_dir(folder).expect("the page has a folder");
    let names =
        entries.map(|entry| entry.expect("it can be listed").file_name().into_string().expect("it is text"));
    let names: BTreeSet<String> =
        names.filter(|name| !name.ends_with(".rs")).map(|name| format!("/{name}")).collect();
    let served = files.iter().map(|(path, ..)| (*path).to_owned()).collect();
    assert_eq!(names, served);
    for (path, _, text) in files {
        let text = text.replace("http://www.w3.org/", "");
        let elsewhere = ["http://", "https://", "@import", "url("];
        let html = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("];
        let inline = ["<script>", "style=\"", "onclick=\"", "<style"];
        for word in elsewhere.iter().chain(&html).chain(&inline) {
            assert!(!text.contains(word), "{path} says {word}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_shared_file_is_served() {
        check_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/command/page"), SHARED);
    }
}
