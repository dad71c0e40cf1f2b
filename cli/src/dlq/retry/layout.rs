//! JSON without white space, with every token as it was: numbers keep their digits and names their order. Pure.

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

    use super::super::super::pretty::pretty;
    use super::*;

    #[test]
    fn tokens_stay_as_they_are() {
        let json = r#"{"b":[1.0,12345678901234567890123,1e400],"a":{},"c":"x \" {,:} \\","d":[]}"#;
        let pretty = pretty(json).unwrap();
        assert_eq!(compact(&pretty), json);
        assert!(is_compact(json) && !is_compact(&pretty));
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
            let laid_out = pretty(&json).unwrap();
            prop_assert_eq!(compact(&laid_out), json);
        }
    }
}
