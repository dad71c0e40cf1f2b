//! Builds filter patterns for CloudWatch Logs. Pure.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html>

/// <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html>
const LONGEST: usize = 1_024;

/// Returns patterns for lines with one of these texts, as few as the length limit allows.
pub(super) fn any_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let terms = texts.into_iter().map(|text| format!("?\"{}\"", unquoted(text)));
    // A question mark works only with a second term.
    let alone = |pattern: String| match pattern.matches("?\"").count() {
        1 => pattern[1..].to_owned(),
        _ => pattern,
    };
    joined(terms, "", " ", "").into_iter().map(alone).collect()
}

/// Returns patterns for the JSON lines in which Lambda reports the end of these invocations.
/// <https://docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html>
pub(super) fn reports_of<'a>(request_ids: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let terms = request_ids.into_iter().map(|id| format!("$.record.requestId = \"{}\"", unquoted(id)));
    joined(terms, "{ $.type = \"platform.report\" && (", " || ", ") }")
}

fn unquoted(text: &str) -> String {
    text.replace(['"', '\\'], "")
}

/// Joins the terms into as few patterns as the length limit allows.
fn joined(terms: impl Iterator<Item = String>, begin: &str, between: &str, end: &str) -> Vec<String> {
    let mut patterns: Vec<String> = Vec::new();
    for term in terms {
        match patterns.last_mut() {
            Some(pattern) if pattern.len() + between.len() + term.len() <= LONGEST => {
                pattern.insert_str(pattern.len() - end.len(), &format!("{between}{term}"));
            }
            _ => patterns.push(format!("{begin}{term}{end}")),
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_is_quoted_and_several_are_alternatives() {
        assert_eq!(any_of(["a-1"]), ["\"a-1\""]);
        assert_eq!(any_of(["a-1", "b\"\\"]), ["?\"a-1\" ?\"b\""]);
        assert_eq!(any_of([]), Vec::<String>::new());
        assert_eq!(
            reports_of(["r1", "r2"]),
            [
                "{ $.type = \"platform.report\" && ($.record.requestId = \"r1\" || $.record.requestId = \"r2\") }"
            ]
        );
    }

    #[test]
    fn no_pattern_is_longer_than_allowed_and_every_id_is_in_one() {
        let ids: Vec<String> =
            (0..100).map(|number| format!("00000000-0000-0000-0000-{number:012}")).collect();
        for patterns in [any_of(ids.iter().map(String::as_str)), reports_of(ids.iter().map(String::as_str))] {
            assert!(patterns.iter().all(|pattern| pattern.len() <= LONGEST));
            assert!(ids.iter().all(|id| patterns.iter().any(|pattern| pattern.contains(id))));
            assert!(patterns.len() <= 8, "{}", patterns.len());
        }
    }
}
