//! Formats JSON on several lines or on one, and keeps each digit and the order of keys. Pure.

/// Deepest nesting that is formatted. Each level indents all lines in it, so `[[[[` from a sender would grow with its square.
const DEEPEST: usize = 64;

/// Greatest ratio of the lines to the text in bytes, beside an allowance that small texts never exceed.
const GROWTH: usize = 4;
const ALLOWANCE: usize = 64 * 1024;

/// Formats JSON on several lines. Returns none if the text is not JSON, is nested too deeply, or would become too long.
pub(crate) fn pretty(text: &str) -> Option<String> {
    serde_json::from_str::<&serde_json::value::RawValue>(text).ok()?;
    let most = text.len() * GROWTH + ALLOWANCE;
    let mut lines = String::with_capacity(text.len() * 2);
    let (mut depth, mut strings) = (0_usize, Strings::default());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if depth > DEEPEST || lines.len() > most {
            return None;
        }
        match c {
            c if strings.is_within(c) => lines.push(c),
            '{' | '[' => {
                lines.push(c);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => lines.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut lines, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut lines, depth);
                lines.push(c);
            }
            ',' => {
                lines.push(c);
                new_line(&mut lines, depth);
            }
            ':' => lines.push_str(": "),
            c if c.is_ascii_whitespace() => (),
            c => lines.push(c),
        }
    }
    Some(lines)
}

fn new_line(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.extend(std::iter::repeat_n("  ", depth));
}

/// Removes white space between tokens.
pub(super) fn compact(json: &str) -> String {
    let mut strings = Strings::default();
    json.chars().filter(|c| strings.is_within(*c) || !c.is_ascii_whitespace()).collect()
}

/// Returns true if there is no white space between tokens.
pub(super) fn is_compact(json: &str) -> bool {
    let mut strings = Strings::default();
    json.chars().all(|c| strings.is_within(c) || !c.is_ascii_whitespace())
}

/// Tracks the strings in a JSON text.
#[derive(Debug, Default)]
struct Strings {
    within: bool,
    escaped: bool,
}

impl Strings {
    /// Returns true if the next character belongs to a string, with its quotes.
    fn is_within(&mut self, c: char) -> bool {
        let before = self.within;
        match c {
            _ if self.escaped => self.escaped = false,
            '\\' if self.within => self.escaped = true,
            '"' => self.within = !self.within,
            _ => (),
        }
        before || self.within
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn values_stand_as_they_were_written() {
        let text = r#"{"b":1.10,"a":[ ],"c":{"d":[123456789012345678901234567890,"x: {\"y\", \\"],"e":{}},"f":null}"#;
        let expected = r#"{
  "b": 1.10,
  "a": [],
  "c": {
    "d": [
      123456789012345678901234567890,
      "x: {\"y\", \\"
    ],
    "e": {}
  },
  "f": null
}"#;
        assert_eq!(pretty(text).as_deref(), Some(expected));
        assert_eq!(pretty(expected).as_deref(), Some(expected));
        let json = r#"{"b":[1.0,12345678901234567890123,1e400],"a":{},"c":"x \" {,:} \\","d":[]}"#;
        let lines = pretty(json).unwrap();
        assert_eq!(compact(&lines), json);
        assert!(is_compact(json) && !is_compact(&lines));
        for text in ["7", "\"a b\"", "null", "[]"] {
            assert_eq!(pretty(text).as_deref(), Some(text));
        }
        for text in ["", "{", "hello", "{\"a\":1} x"] {
            assert_eq!(pretty(text), None);
        }
    }

    #[test]
    fn indentation_never_floods_the_reader() {
        let nested = |depth: usize| "[".repeat(depth) + "1" + &"]".repeat(depth);
        assert!(pretty(&nested(DEEPEST)).is_some());
        for text in [
            nested(DEEPEST + 1),
            nested(10_000),
            "{\"a\":".repeat(2_000) + "1" + &"}".repeat(2_000),
            format!("{}1{}", "[".repeat(60), ",1".repeat(10_000)) + &"]".repeat(60),
        ] {
            assert_eq!(pretty(&text), None, "{} bytes", text.len());
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..5)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn pretty_and_compact_json_are_inverse(value in json()) {
            let text = value.to_string();
            prop_assert!(is_compact(&text));
            let lines = pretty(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&lines).unwrap(), value);
            prop_assert_eq!(compact(&lines), text);
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = pretty(&text);
        }

        #[test]
        fn lines_are_never_much_longer_than_the_text(text in "[\\[\\]{}:,\"1a ]{0,400}", depth in 0..5_000_usize) {
            let text = "[".repeat(depth) + &text + &"]".repeat(depth);
            let lines = pretty(&text).unwrap_or_default();
            prop_assert!(lines.len() <= text.len() * GROWTH + ALLOWANCE + 2 * DEEPEST + 2);
        }
    }
}
