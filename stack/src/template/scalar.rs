//! What a scalar is to CloudFormation, which reads YAML 1.1 and takes texts for booleans and numbers. Pure.

use std::str::FromStr;

/// A scalar without quotes, as CloudFormation passes it on: `yes` is `true` wherever it stands.
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
    let is_grouped = text.contains('_') && text.starts_with(|first: char| ('1'..='9').contains(&first));
    match is_grouped && text.chars().all(|digit| digit.is_ascii_digit() || digit == '_') {
        true => text.replace('_', ""),
        false => text.to_owned(),
    }
}

/// A text where a boolean belongs.
pub(crate) fn flag(text: &str) -> Option<bool> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    is("true").then_some(true).or_else(|| is("false").then_some(false))
}

/// A text where a number belongs. A whole one may be written as `60.0`.
pub(crate) fn number<T: FromStr>(text: &str) -> Option<T> {
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
