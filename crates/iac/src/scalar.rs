//! Reads scalars as CloudFormation does: as YAML 1.1, and texts as booleans and numbers. Pure.

use std::str::FromStr;

/// Returns a scalar without quotes as CloudFormation passes it on: `yes` is `true` everywhere, and `0200` is 128.
/// <https://yaml.org/type/bool.html>, <https://yaml.org/type/int.html>
pub(super) fn plain(text: &str) -> String {
    const TRUE: [&str; 9] = ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"];
    const FALSE: [&str; 9] = ["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"];
    if TRUE.contains(&text) {
        return "true".to_owned();
    }
    if FALSE.contains(&text) {
        return "false".to_owned();
    }
    whole(text).map_or_else(|| text.to_owned(), |number| number.to_string())
}

/// Reads a whole number: decimal, binary, octal, hexadecimal, or with colons in base 60.
fn whole(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    // Underscores stand between digits only.
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'b', ..] => (2, &digits[2..]),
        [b'0', b'x', ..] => (16, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        [b'0'..=b'9', ..] => (10, digits),
        _ => return None,
    };
    let digits = digits.replace('_', "");
    let number = match radix {
        10 => digits.split(':').enumerate().try_fold(0, |sum: i128, (place, part)| {
            let number = unsigned(part, radix).filter(|number| place == 0 || *number < 60)?;
            sum.checked_mul(60)?.checked_add(number)
        }),
        _ => unsigned(&digits, radix),
    }?;
    Some(if text.starts_with('-') { -number } else { number })
}

fn unsigned(digits: &str, radix: u32) -> Option<i128> {
    let is_signed = digits.starts_with(['+', '-']);
    i128::from_str_radix(digits, radix).ok().filter(|_| !is_signed)
}

/// Reads a text as a boolean.
pub fn flag(text: &str) -> Option<bool> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    is("true").then_some(true).or_else(|| is("false").then_some(false))
}

/// Reads a text as a number. A whole number may be written as `60.0`.
pub fn number<T: FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    let whole = || {
        let (whole, fraction) = text.split_once('.')?;
        fraction.chars().all(|digit| digit == '0').then(|| whole.parse().ok())?
    };
    text.parse().ok().or_else(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_and_numbers_are_those_of_yaml_1_1() {
        for (written, meant) in [
            ("True", "true"),
            ("TRUE", "true"),
            ("yes", "true"),
            ("On", "true"),
            ("False", "false"),
            ("no", "false"),
            ("OFF", "false"),
            ("1_000", "1000"),
            ("y", "y"),
            ("yEs", "yEs"),
            ("012345678901", "012345678901"),
            ("0200", "128"),
            ("0_7", "7"),
            ("00", "0"),
            ("0x1e", "30"),
            ("0x_B4", "180"),
            ("-0x1f", "-31"),
            ("0b101", "5"),
            ("+12", "12"),
            ("3:00", "180"),
            ("1:2:03", "3723"),
            ("1:60", "1:60"),
            ("1:+2", "1:+2"),
            ("08", "08"),
            ("0x", "0x"),
            ("0X1e", "0X1e"),
            ("0o17", "0o17"),
            ("--1", "--1"),
            ("1.50", "1.50"),
            ("2012-10-17", "2012-10-17"),
            ("9999999999999999999999999999999999999999", "9999999999999999999999999999999999999999"),
            ("a_b", "a_b"),
            ("_1", "_1"),
        ] {
            assert_eq!(plain(written), meant);
        }
    }

    #[test]
    fn texts_are_taken_for_booleans_and_numbers() {
        assert_eq!(["True", "false", "yes", ""].map(flag), [Some(true), Some(false), None, None]);
        let expected = [Some(60), Some(60), Some(60), None, None, None];
        assert_eq!(["60", "60.0", " 60 ", "60.5", "sixty", "-1"].map(number::<u32>), expected);
        assert_eq!(["0.5", "1"].map(number::<f64>), [Some(0.5), Some(1.0)]);
    }
}
