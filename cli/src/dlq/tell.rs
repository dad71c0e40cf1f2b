//! Talk, which goes to stderr.

use std::fmt::Arguments;
use std::io::Write;

/// Says a line. If nobody is left to hear it, what is done goes on to its end.
pub(crate) fn tell(line: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// `1 letter`, `2 letters`.
pub(crate) fn letters(count: usize) -> String {
    match count {
        1 => "1 letter".to_owned(),
        _ => format!("{count} letters"),
    }
}
