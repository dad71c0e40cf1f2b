//! A JSON reader that unescapes a string while it looks for its end, eight bytes at a time.
//!
//! Bodies are JSON inside JSON, with an escaped quote every few bytes. `serde_json` handles each escape by itself, which was
//! most of the cost of reading an event; other readers gain less (dev/bench/README.md). This one reads only what SQS events
//! contain and returns `None` for anything else, which is left to `serde_json`.

use std::borrow::Cow;

/// Deepest nesting of a skipped value.
const DEEPEST: usize = 16;
/// Bytes that are unescaped before they are appended, so that the vector does not grow at each escape.
const PIECE: usize = 512;

/// A position in JSON text.
pub(super) struct Json<'text> {
    text: &'text str,
    at: usize,
    /// The buffer for strings with escapes.
    unescaped: Vec<u8>,
}

impl<'text> Json<'text> {
    pub(super) const fn new(text: &'text str) -> Self {
        Self { text, at: 0, unescaped: Vec::new() }
    }

    /// Calls `member` for each member, with its key, which must not have escapes.
    pub(super) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'text str) -> Option<()>,
    ) -> Option<()> {
        self.list(b'{', b'}', |json| {
            let key = json.key()?;
            json.eat(b':')?;
            member(json, key)
        })
    }

    pub(super) fn array(&mut self, element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.list(b'[', b']', element)
    }

    /// Reads a string, which is borrowed unless it has escapes.
    pub(super) fn text(&mut self) -> Option<Cow<'text, str>> {
        self.eat(b'"')?;
        let start = self.at;
        match self.run()? {
            b'"' => Some(Cow::Borrowed(&self.text[start..self.at - 1])),
            _ => self.unescape(start).map(Cow::Owned),
        }
    }

    /// Skips a string, an object or an array, and returns its JSON.
    pub(super) fn skip(&mut self) -> Option<&'text str> {
        self.peek()?;
        let start = self.at;
        self.skip_within(DEEPEST)?;
        Some(&self.text[start..self.at])
    }

    /// Returns true if only white space follows.
    pub(super) fn is_over(&mut self) -> bool {
        self.peek().is_none()
    }

    fn list(&mut self, begin: u8, end: u8, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.eat(begin)?;
        if self.peek()? == end {
            self.at += 1;
            return Some(());
        }
        loop {
            element(self)?;
            let next = self.peek()?;
            self.at += 1;
            match next {
                b',' => {}
                next => return (next == end).then_some(()),
            }
        }
    }

    fn key(&mut self) -> Option<&'text str> {
        self.eat(b'"')?;
        let start = self.at;
        (self.run()? == b'"').then(|| &self.text[start..self.at - 1])
    }

    fn skip_within(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.peek()? {
            b'"' => self.skip_text(),
            b'{' => self.object(|json, _| json.skip_within(depth)),
            b'[' => self.array(|json| json.skip_within(depth)),
            _ => None,
        }
    }

    fn skip_text(&mut self) -> Option<()> {
        self.at += 1;
        while self.run()? == b'\\' {
            unescaped(*self.text.as_bytes().get(self.at)?)?;
            self.at += 1;
        }
        Some(())
    }

    /// Skips white space, and returns the byte after it without consuming it.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.as_bytes().get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Moves past plain characters and the quote or backslash after them, which it returns.
    fn run(&mut self) -> Option<u8> {
        let mut rest = self.text.as_bytes().get(self.at..)?;
        loop {
            let plain = match rest.split_first_chunk() {
                Some((eight, more)) => match plain(eight) {
                    8 => {
                        rest = more;
                        continue;
                    }
                    plain => plain,
                },
                None => end(rest),
            };
            self.at = self.text.len() - rest.len() + plain + 1;
            return mark(rest, plain);
        }
    }

    /// Unescapes a string from its start.
    fn unescape(&mut self, start: usize) -> Option<String> {
        let mut rest = self.text.as_bytes().get(start..)?;
        let (mut piece, mut to) = ([0; PIECE], 0);
        self.unescaped.clear();
        loop {
            if to > PIECE - 8 {
                self.unescaped.extend_from_slice(&piece[..to]);
                to = 0;
            }
            let plain = match rest.first_chunk() {
                Some(eight) => {
                    piece[to..to + 8].copy_from_slice(eight);
                    plain(eight)
                }
                None => {
                    piece[to..to + rest.len()].copy_from_slice(rest);
                    end(rest)
                }
            };
            to += plain;
            if plain == 8 {
                rest = &rest[8..];
                continue;
            }
            if mark(rest, plain)? == b'"' {
                rest = &rest[plain + 1..];
                break;
            }
            let escaped = *rest.get(plain + 1)?;
            piece[to] = if escaped == b'"' { escaped } else { unescaped(escaped)? };
            to += 1;
            rest = &rest[plain + 2..];
        }
        self.at = self.text.len() - rest.len();
        self.unescaped.extend_from_slice(&piece[..to]);
        std::str::from_utf8(&self.unescaped).ok().map(str::to_owned)
    }
}

/// Returns the byte at this index if it is a quote or a backslash, else `None`: a control character must be escaped.
fn mark(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied().filter(|mark| matches!(mark, b'"' | b'\\'))
}

/// Returns the character that a byte after a backslash stands for. `\u` is left to `serde_json`.
#[cold]
const fn unescaped(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        _ => return None,
    })
}

/// Counts the bytes before the first quote, backslash or control character among eight.
///
/// Among the highest bits of the bytes of `x - 1 & !x`, the first one set is in the lowest byte that is 0. For `x - n & !x`, it
/// is in the lowest byte below n: <https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord>
const fn plain(eight: &[u8; 8]) -> usize {
    let word = u64::from_le_bytes(*eight);
    // The XOR swaps the quote with the space, so that it follows the control characters.
    let quotes_and_controls = (word ^ each(2)).wrapping_sub(each(b' ' + 1));
    let backslashes = (word ^ each(b'\\')).wrapping_sub(each(1));
    let marks = (quotes_and_controls | backslashes) & !word & each(0x80);
    marks.trailing_zeros() as usize / 8
}

/// Repeats a byte eight times.
const fn each(byte: u8) -> u64 {
    u64::MAX / 255 * byte as u64
}

/// Does the same as `plain` for the last bytes, which are fewer than eight.
#[cold]
fn end(bytes: &[u8]) -> usize {
    let is_mark = |&byte: &u8| byte < b' ' || byte == b'"' || byte == b'\\';
    bytes.iter().position(is_mark).unwrap_or(bytes.len())
}
