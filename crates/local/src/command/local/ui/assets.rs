//! The files of the page beside the shared ones.

use crate::command::page::File;
use crate::page_file;

pub(super) const FILES: &[File] = &[
    page_file!("app.js"),
    page_file!("attributes.js"),
    page_file!("bodies.js"),
    page_file!("charts.js"),
    page_file!("clock.js"),
    page_file!("controls.js"),
    page_file!("detail.css"),
    page_file!("detail.js"),
    page_file!("filter.js"),
    page_file!("index.html"),
    page_file!("invocations.js"),
    page_file!("layout.css"),
    page_file!("list.js"),
    page_file!("message.js"),
    page_file!("parts.css"),
    page_file!("picture.js"),
    page_file!("scale.js"),
    page_file!("send.js"),
    page_file!("store.js"),
    page_file!("stream.js"),
    page_file!("tiles.js"),
    page_file!("track.js"),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::command::page::check_files;

    #[test]
    fn every_file_of_the_page_is_served() {
        check_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/command/local/ui/page"), super::FILES);
    }
}
