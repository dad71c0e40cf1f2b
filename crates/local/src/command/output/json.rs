//! Writes JSON that does not act on terminals, with its meaning unchanged. Pure.

use redrive_sqs::is_invisible;
use serde::Serialize;

/// Returns the value as JSON, written by one of `serde_json`'s two writers.
///
/// # Errors
/// Returns an error if JSON cannot express the value.
pub fn json<T: Serialize>(
    value: &T,
    write: impl FnOnce(&T) -> serde_json::Result<String>,
) -> serde_json::Result<String> {
    Ok(escape_json(write(value)?))
}

/// Escapes characters in strings that act on terminals. Outside of strings JSON has only ASCII white space, and in strings
/// `serde_json` escapes characters below the space.
fn escape_json(text: String) -> String {
    if !text.chars().any(is_left) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len() + 32), |mut json, c| {
        match is_left(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| json += &format!("\\u{unit:04x}")),
            false => json.push(c),
        }
        json
    })
}

fn is_left(c: char) -> bool {
    is_invisible(c) && c >= '\x7f'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_that_act_are_escaped_as_json_has_it() {
        let written = json(&["a\u{9b}\x7f\u{202e}\u{e0041}\n\x1bé"], serde_json::to_string).unwrap();
        assert_eq!(written, "[\"a\\u009b\\u007f\\u202e\\udb40\\udc41\\n\\u001bé\"]");
    }

    proptest! {
        #[test]
        fn the_value_stays_the_same(text: String, key: String, acting in "[\\x00-\\x1f\\x7f-\\x9f\u{202a}-\u{202e}\u{e0020}-\u{e0030}]{0,5}") {
            let value = serde_json::json!({ key: [text, acting] });
            for write in [serde_json::to_string, serde_json::to_string_pretty] {
                let written = json(&value, write).unwrap();
                prop_assert!(!written.chars().any(|c| is_invisible(c) && c != '\n'));
                prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&written).unwrap(), &value);
            }
        }
    }
}
