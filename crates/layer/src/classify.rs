//! Rules that say what an error of the function means for its message. Pure.

use redrive::tools::ExitMeaning;
use redrive_sqs::Quoted;

/// The rules of `REDRIVE_CLASSIFY`. The first that matches counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClassifyRules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    type_name: String,
    /// `None` for any message.
    message: Option<String>,
    meaning: ExitMeaning,
}

impl ClassifyRules {
    /// Reads rules such as `ValueError=reject`, separated by commas or line breaks.
    ///
    /// # Errors
    /// A rule is invalid. The error says what is allowed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let rules = text.split([',', '\n']).map(str::trim).filter(|rule| !rule.is_empty());
        rules.map(Rule::parse).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the meaning of an error, which is a retry if no rule matches.
    pub(crate) fn meaning(&self, type_name: &str, message: &str) -> ExitMeaning {
        let matches = |rule: &&Rule| {
            is_match(&rule.type_name, type_name)
                && rule.message.as_ref().is_none_or(|pattern| is_match(pattern, message))
        };
        self.0.iter().find(matches).map_or(ExitMeaning::Retry, |rule| rule.meaning)
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Self, String> {
        let refused = |allowed: String| format!("REDRIVE_CLASSIFY is {}, allowed: {allowed}", Quoted(text));
        let Some((error, meaning)) = text.rsplit_once('=') else {
            return Err(refused(
                "TYPE=MEANING or TYPE MESSAGE=MEANING, such as ValueError=reject".to_owned(),
            ));
        };
        let meaning = meaning
            .trim()
            .parse()
            .map_err(|()| refused(format!("{} after the last =", ExitMeaning::ALLOWED)))?;
        let error = error.trim();
        let (type_name, message) = match error.split_once(char::is_whitespace) {
            Some((type_name, message)) => (type_name, Some(message.trim_start().to_owned())),
            None => (error, None),
        };
        if meaning == ExitMeaning::Outage && message.as_ref().is_some_and(|it| it.starts_with(['*', '?'])) {
            let allowed = "for an outage, a message that does not begin with * or ?, since a sender's text could match and stop all messages";
            return Err(refused(allowed.to_owned()));
        }
        if type_name.is_empty() {
            return Err(refused("the name of a type before =, or * for any".to_owned()));
        }
        Ok(Self { type_name: type_name.to_owned(), message, meaning })
    }
}

/// Returns true if a text matches a pattern, in which `*` stands for any characters and `?` for one.
fn is_match(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut of_text) = (0, 0);
    // Position of the last star, and the end of the text that it matches.
    let mut star = None;
    while of_text < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, of_text));
                at += 1;
            }
            Some(&letter) if letter == '?' || letter == text[of_text] => {
                (at, of_text) = (at + 1, of_text + 1)
            }
            _ => {
                let Some((place, reach)) = star else { return false };
                star = Some((place, reach + 1));
                (at, of_text) = (place + 1, reach + 1);
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_matches_counts() {
        let rules = ClassifyRules::parse(
            "ValueError=reject, KeyError=discard\nClientError An error occurred (Throttling*=outage\n\
             ClientError=return,*Timeout*=outage,Error code 4?? x=y=done\n * not found = reject",
        )
        .unwrap();
        for (type_name, message, meaning) in [
            ("ValueError", "no", ExitMeaning::Reject),
            ("valueerror", "no", ExitMeaning::Retry),
            ("ValueErrors", "no", ExitMeaning::Retry),
            ("KeyError", "'id'", ExitMeaning::Discard),
            ("ClientError", "An error occurred (ThrottlingException) when", ExitMeaning::Outage),
            ("ClientError", "An error occurred (AccessDenied) when", ExitMeaning::Return),
            ("com.bank.ReadTimeoutException", "", ExitMeaning::Outage),
            ("Error", "code 404 x=y", ExitMeaning::Done),
            ("ClientError", "no tea (An error occurred (ThrottlingException)", ExitMeaning::Return),
            ("Anything", "not found", ExitMeaning::Reject),
            ("Anything", "it was not found", ExitMeaning::Retry),
        ] {
            assert_eq!(rules.meaning(type_name, message), meaning, "{type_name}: {message}");
        }
        assert_eq!(ClassifyRules::parse("").unwrap(), ClassifyRules::default());
        assert_eq!(ClassifyRules::parse(" ,\n, ").unwrap(), ClassifyRules::default());
    }

    #[test]
    fn a_rule_that_is_wrong_is_named_with_what_is_allowed() {
        for (rules, error) in [
            (
                "ValueError=reject,KeyError",
                "REDRIVE_CLASSIFY is \"KeyError\", allowed: TYPE=MEANING or TYPE MESSAGE=MEANING, such as ValueError=reject",
            ),
            (
                "KeyError=drop",
                "REDRIVE_CLASSIFY is \"KeyError=drop\", allowed: done, retry, reject, return, outage or discard after the last =",
            ),
            (
                "ClientError *Throttling*=outage",
                "REDRIVE_CLASSIFY is \"ClientError *Throttling*=outage\", allowed: for an outage, a message that does not begin with * or ?, since a sender's text could match and stop all messages",
            ),
            ("=retry", "REDRIVE_CLASSIFY is \"=retry\", allowed: the name of a type before =, or * for any"),
        ] {
            assert_eq!(ClassifyRules::parse(rules), Err(error.to_owned()));
        }
    }

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("a*", "a", true),
            ("*b*", "abc", true),
            ("*ab", "aab", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("?", "é", true),
            ("?", "", false),
            ("a", "ab", false),
            ("*line\n*", "first line\nsecond", true),
        ] {
            assert_eq!(is_match(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!is_match(&"*a".repeat(50), &"a".repeat(49)), "and it ends");
    }
}
