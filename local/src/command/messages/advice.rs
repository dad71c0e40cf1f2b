//! What is wrong with a line that is not a message, and what was probably meant. Pure.

use redrive_sqs::cut_to;
use serde_json::Value;

/// What to do about a line that is a part of JSON rather than a whole message.
#[must_use]
pub fn advice_on_layout(line: &[u8]) -> Option<&'static str> {
    match line.trim_ascii() {
        [b'[', rest @ ..] if matches!(rest.trim_ascii_start(), [] | [b'{' | b'[' | b'"' | b']', ..]) => {
            Some("an array is not a message: one message per line; jq -c '.[]' turns an array into lines")
        }
        b"{" => Some("{ alone is not a message: one message per line; jq -c . puts each on its own line"),
        _ => None,
    }
}

/// How to make a message of a line that is a body alone.
pub(super) fn advice_on_body(line: &str) -> &'static str {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(fields)) if fields.contains_key("body") => "",
        Ok(_) => "; if each line is a body, jq -c '{body: .}' turns them into messages",
        Err(_) if line.trim_start().starts_with('{') => "",
        Err(_) => "; if each line is a body, jq -cR '{body: .}' turns them into messages",
    }
}

/// The column and the reason. serde_json counts lines within the text it is given, which is one line here.
#[must_use]
pub fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text);
    // It quotes unknown names as they are.
    format!("column {}: {}", error.column(), cut_to(&reason.replace(char::is_control, " "), 256))
}

#[cfg(test)]
mod tests {
    use super::super::{Place, parse};

    #[test]
    fn what_was_meant_is_told_where_it_is_plain() {
        for (text, line, advice) in [
            ("[{\"body\": \"x\"}]", 1, "one message per line; jq -c '.[]' turns an array into lines"),
            ("[\n  {\"body\": 1}\n]\n", 1, "jq -c '.[]'"),
            ("{\n  \"body\": 1\n}\n", 1, "jq -c . puts each on its own line"),
            ("{\"email\": \"a@b\"}", 1, "unknown field `email`, expected one of `body`"),
            (
                "{\"email\": \"a@b\"}",
                1,
                "; if each line is a body, jq -c '{body: .}' turns them into messages",
            ),
            ("{\"body\": 1}\n\"text\"", 2, "jq -c '{body: .}'"),
            ("[INFO] paid", 1, "expected value; if each line is a body, jq -cR '{body: .}'"),
            ("order,cents", 1, "column 1: expected value; if each line is a body, jq -cR '{body: .}'"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.place == Place::Line(line) && error.message.contains(advice), "{error}");
        }
        let complete = "{\"body\": 1, \"delai\": 5}";
        assert!(!parse(complete).unwrap_err().message.contains("jq"), "a body is there");
    }
}
