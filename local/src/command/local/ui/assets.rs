//! The files of the page, which are part of the executable.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! asset {
    ($kind:ident, $file:literal) => {
        (concat!("/", $file), $kind, include_str!(concat!("page/", $file)))
    };
}

/// Path, type and text of each.
const ASSETS: &[(&str, &str, &str)] = &[
    ("/", HTML, include_str!("page/index.html")),
    asset!(SVG, "favicon.svg"),
    asset!(CSS, "theme.css"),
    asset!(CSS, "layout.css"),
    asset!(CSS, "parts.css"),
    asset!(CSS, "detail.css"),
    asset!(SCRIPT, "app.js"),
    asset!(SCRIPT, "attributes.js"),
    asset!(SCRIPT, "bodies.js"),
    asset!(SCRIPT, "charts.js"),
    asset!(SCRIPT, "clock.js"),
    asset!(SCRIPT, "controls.js"),
    asset!(SCRIPT, "detail.js"),
    asset!(SCRIPT, "dom.js"),
    asset!(SCRIPT, "filter.js"),
    asset!(SCRIPT, "invocations.js"),
    asset!(SCRIPT, "json.js"),
    asset!(SCRIPT, "list.js"),
    asset!(SCRIPT, "message.js"),
    asset!(SCRIPT, "picture.js"),
    asset!(SCRIPT, "scale.js"),
    asset!(SCRIPT, "send.js"),
    asset!(SCRIPT, "store.js"),
    asset!(SCRIPT, "stream.js"),
    asset!(SCRIPT, "tiles.js"),
    asset!(SCRIPT, "track.js"),
];

pub(super) fn find(path: &str) -> Option<Response> {
    let (_, kind, text) = ASSETS.iter().find(|(name, ..)| *name == path)?;
    Some(([(CONTENT_TYPE, *kind)], *text).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/command/local/ui/page");
        let files =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> =
            files.filter(|name| name != "index.html").map(|name| format!("/{name}")).collect();
        let served = ASSETS.iter().map(|(path, ..)| (*path).to_owned()).filter(|path| path != "/").collect();
        assert_eq!(files, served);
    }

    #[test]
    fn no_file_names_another_place_or_makes_html_of_data() {
        for (path, _, text) in ASSETS {
            let text = text.replace("http://www.w3.org/", "");
            for word in [
                "http://",
                "https://",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!text.contains(word), "{path} says {word}");
            }
        }
        let (.., html) = ASSETS[0];
        for inline in ["<script>", "style=", "onclick", "<style"] {
            assert!(!html.contains(inline), "the page says {inline}, which its policy refuses");
        }
    }
}
