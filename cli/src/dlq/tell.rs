//! Talk, which goes to stderr.

use std::fmt::Arguments;
use std::io::Write;

/// Says a line. If nobody is left to hear it, what is done goes on to its end.
pub(crate) fn tell(line: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
