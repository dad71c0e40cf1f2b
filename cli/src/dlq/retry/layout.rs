//! JSON laid out for people and back, with every token as it was: numbers keep their digits and names their order. Pure.

/// Without white space between tokens.
pub(super) fn compact(json: &str) -> String {
    let mut strings = Strings::default();
    json.chars().filter(|c| strings.is_within(*c) || !is_space(*c)).collect()
}

/// Whether there is no white space between tokens.
pub(super) fn is_compact(json: &str) -> bool {
    let mut strings = Strings::default();
    json.chars().all(|c| strings.is_within(c) || !is_space(c))
}

/// With a line for each member, the later ones this deep. Of JSON without white space.
pub(super) fn pretty(compact: &str, depth: usize) -> String {
    let mut pretty = String::new();
    let mut strings = Strings::default();
    let mut depth = depth;
    let mut characters = compact.chars().peekable();
    while let Some(c) = characters.next() {
        if strings.is_within(c) {
            pretty.push(c);
            continue;
        }
        match c {
            '{' | '[' => {
                pretty.push(c);
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    pretty.push(end);
                } else {
                    depth += 1;
                    new_line(&mut pretty, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut pretty, depth);
                pretty.push(c);
            }
            ',' => {
                pretty.push(c);
                new_line(&mut pretty, depth);
            }
            ':' => pretty.push_str(": "),
            _ => pretty.push(c),
        }
    }
    pretty
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Where strings begin and end.
#[derive(Debug, Default)]
struct Strings {
    within: bool,
    escaped: bool,
}

impl Strings {
    /// Whether the next character belongs to a string; its quotes do.
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
    fn tokens_stay_as_they_are() {
        let json = r#"{"b":[1.0,12345678901234567890123,1e400],"a":{},"c":"x \" {,:} \\","d":[]}"#;
        let expected = "{\n    \"b\": [\n      1.0,\n      12345678901234567890123,\n      1e400\n    ],\n    \"a\": {},\n    \
                        \"c\": \"x \\\" {,:} \\\\\",\n    \"d\": []\n  }";
        assert_eq!(pretty(json, 1), expected);
        assert_eq!(compact(expected), json);
        assert!(is_compact(json) && !is_compact(expected));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_laid_out_comes_back(json in any_json()) {
            let json = json.to_string();
            prop_assert!(is_compact(&json));
            let laid_out = pretty(&json, 1);
            prop_assert_eq!(compact(&laid_out), json.clone());
            let (laid_out, json): (Value, Value) =
                (serde_json::from_str(&laid_out).unwrap(), serde_json::from_str(&json).unwrap());
            prop_assert_eq!(laid_out, json);
        }
    }
}
