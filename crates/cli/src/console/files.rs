//! Files of the page, without those that it shares with other pages.

use redrive_local::command::page::File;
use redrive_local::page_file;

pub(super) const FILES: &[File] = &[
    page_file!("app.js"),
    page_file!("console.css"),
    page_file!("dialogs.js"),
    page_file!("errors.js"),
    page_file!("fleet.js"),
    page_file!("history.js"),
    page_file!("index.html"),
    page_file!("letter.js"),
    page_file!("letters.js"),
    page_file!("link.html"),
    page_file!("link.js"),
    page_file!("list.js"),
    page_file!("queue.js"),
    page_file!("run.js"),
    page_file!("server.js"),
    page_file!("words.js"),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use redrive_local::command::page::check_files;

    #[test]
    fn every_file_of_the_page_is_served() {
        check_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console/page"), super::FILES);
    }
}
