//! Splits the text below the flags of `--help` into the sections of a manual page. Pure.

use clap_mangen::roff::{Roff, bold, roman};

/// Exit status of a command without its own.
const EXIT_STATUS: &str = "0 done, 1 failed or partly failed, 2 wrong usage or input";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Footer<'a> {
    examples: Vec<&'a str>,
    /// Exit codes and their meanings.
    exit_status: Vec<(String, String)>,
    /// Other paragraphs.
    notes: Vec<&'a str>,
}

impl<'a> Footer<'a> {
    /// Parses paragraphs, which empty lines separate. Those that begin with `Example` have examples, and the one that begins with
    /// `Exit codes:` has the codes.
    pub(super) fn parse(text: &'a str) -> Self {
        let mut footer = Self { examples: Vec::new(), exit_status: codes(EXIT_STATUS), notes: Vec::new() };
        let mut is_example = false;
        for paragraph in text.split("\n\n").map(str::trim_end).filter(|paragraph| !paragraph.is_empty()) {
            // The output of an example may have empty lines.
            is_example = paragraph.starts_with("Example") || is_example && paragraph.starts_with(' ');
            if is_example {
                let lines = paragraph.split_once('\n').filter(|(first, _)| first.starts_with("Example"));
                footer.examples.push(lines.map_or(paragraph, |(_, lines)| lines));
            } else if let Some(list) = paragraph.strip_prefix("Exit codes:") {
                let list = list.split_once("\nMore:").map_or(list, |(list, _)| list);
                footer.exit_status = codes(list.trim_start());
            } else {
                footer.notes.push(paragraph);
            }
        }
        footer
    }

    pub(super) fn write_exit_status(&self, roff: &mut Roff) {
        roff.control("SH", ["EXIT STATUS"]);
        for (code, meaning) in &self.exit_status {
            roff.control("TP", []).text([bold(code)]).text([roman(meaning)]);
        }
    }

    pub(super) fn write_notes(&self, roff: &mut Roff) {
        if !self.notes.is_empty() {
            roff.control("SH", ["NOTES"]);
        }
        for paragraph in &self.notes {
            roff.control("PP", []);
            match paragraph.lines().any(|line| line.starts_with(' ')) {
                true => write_as_it_is(roff, paragraph),
                false => drop(roff.text([roman(*paragraph)])),
            }
        }
    }

    pub(super) fn write_examples(&self, roff: &mut Roff) {
        if !self.examples.is_empty() {
            roff.control("SH", ["EXAMPLES"]);
        }
        for paragraph in &self.examples {
            roff.control("PP", []);
            write_as_it_is(roff, paragraph);
        }
    }
}

fn write_as_it_is(roff: &mut Roff, paragraph: &str) {
    roff.control("nf", []);
    for line in paragraph.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

/// Parses exit codes: `0 done, 1 failed, or not tried` has two.
fn codes(list: &str) -> Vec<(String, String)> {
    let mut codes: Vec<String> = Vec::new();
    for part in list.trim_end_matches('.').split_inclusive([',', ';']).map(str::trim_start) {
        match codes.last_mut() {
            Some(last) if !part.starts_with(|c: char| c.is_ascii_digit()) => *last = format!("{last} {part}"),
            _ => codes.push(part.to_owned()),
        }
    }
    let split = |code: &String| {
        let (code, meaning) = code.trim_end_matches([',', ';']).split_once(' ')?;
        Some((code.to_owned(), meaning.to_owned()))
    };
    codes.iter().filter_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_go_where_a_manual_page_has_them() {
        let footer = "\
Examples:
  redrive dlq list
      lists

A note,
in two lines.

Exit codes: 0 done, 1 failed, or partly; 130 interrupted.
More: man redrive-dlq-list

Example:
  $ redrive

  2 letters";
        let parsed = Footer::parse(footer);
        assert_eq!(parsed.examples, ["  redrive dlq list\n      lists", "  $ redrive", "  2 letters"]);
        assert_eq!(parsed.notes, ["A note,\nin two lines."]);
        let expected = [("0", "done"), ("1", "failed, or partly"), ("130", "interrupted")];
        let expected = expected.map(|(code, meaning)| (code.to_owned(), meaning.to_owned()));
        assert_eq!(parsed.exit_status, expected);
        assert_eq!(Footer::parse("").exit_status.len(), 3);
    }
}
