//! Talk, which goes to stderr.

pub(crate) use crate::tell::tell;

/// `1 letter`, `2 letters`.
pub(crate) fn letters(count: usize) -> String {
    match count {
        1 => "1 letter".to_owned(),
        _ => format!("{count} letters"),
    }
}
