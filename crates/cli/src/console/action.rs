//! Turns the page's requests into arguments of this command. Pure.

use std::path::Path;

use serde::Deserialize;

use crate::dlq::check_document;
use crate::fleet::DeadLetterQueue;
use crate::shell::word;

/// Most letters of a queue that the page can hold.
pub(super) const MOST_LETTERS: usize = 20_000;
/// Letters of each queue if the errors of all are grouped: one receive.
const MOST_OF_EACH: usize = 10;

/// Flags of `redrive console` for all verbs, as typed.
#[derive(Debug, Clone, Default)]
pub(super) struct Typed {
    pub(super) profiles: Vec<String>,
    pub(super) regions: Vec<String>,
    pub(super) endpoint_url: Option<String>,
    pub(super) timeout: Option<u64>,
    /// Variables that select the account, region and endpoint if no flag does. A copied command needs them.
    pub(super) environment: Vec<(&'static str, String)>,
}

/// A request to list letters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    /// ARN of the dead-letter queue.
    pub(super) queue: String,
    /// ARN of one of several queues that share it.
    #[serde(default)]
    pub(super) source: Option<String>,
    #[serde(default, rename = "where")]
    pub(super) conditions: Vec<String>,
    /// True to read the failures of letters without a note from the function's log.
    #[serde(default)]
    pub(super) logs: bool,
    /// True to receive letters although SQS moves them after some receives.
    #[serde(default)]
    pub(super) may_move: bool,
}

/// A request to change letters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LetterAction {
    pub(super) verb: Verb,
    pub(super) queue: String,
    #[serde(default)]
    pub(super) source: Option<String>,
    /// Ids of the letters.
    #[serde(default)]
    pub(super) ids: Vec<String>,
    /// For `retry`: true for all letters, including those behind others of their group, whose ids are unknown.
    #[serde(default)]
    pub(super) all: bool,
    /// For `retry`: the stages, such as `10,100,all`.
    #[serde(default)]
    pub(super) stages: Option<String>,
    #[serde(default)]
    pub(super) wait: Option<String>,
    /// For `delete`: true to write the letters to a file first.
    #[serde(default)]
    pub(super) export: bool,
    /// For `edit`: the letter as a document for the editor.
    #[serde(default)]
    pub(super) document: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verb {
    Retry,
    Edit,
    Delete,
}

impl Verb {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Edit => "edit",
            Self::Delete => "delete",
        }
    }
}

/// Arguments of a command after `redrive`, and the variables before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words(Vec<String>, Vec<(&'static str, String)>);

impl Words {
    pub(super) fn new(words: &[&str]) -> Self {
        Self(words.iter().map(|word| (*word).to_owned()).collect(), vec![])
    }

    /// Adds a flag. A value that begins with `-` remains a value.
    fn flag(mut self, name: &str, value: Option<impl ToString>) -> Self {
        match value.map(|value| value.to_string()) {
            Some(value) if value.starts_with('-') => self.0.push(format!("--{name}={value}")),
            Some(value) => self.0.extend([format!("--{name}"), value]),
            None => (),
        }
        self
    }

    /// Adds flags that only a program needs.
    pub(super) fn with(&self, flags: &[&str]) -> Vec<String> {
        self.0.iter().cloned().chain(flags.iter().map(|flag| (*flag).to_owned())).collect()
    }

    fn and(mut self, flags: &[&str]) -> Self {
        self.0.extend(flags.iter().map(|flag| (*flag).to_owned()));
        self
    }

    /// Formats the command for a shell.
    pub(super) fn typed(&self) -> String {
        let has = |flag: &str| self.0.iter().any(|word| word == flag);
        let is_needed = |name: &str| match name {
            "AWS_PROFILE" => !has("--profile"),
            "AWS_ENDPOINT_URL" => !has("--endpoint-url"),
            _ => true,
        };
        let variables = self.1.iter().filter(|(name, _)| is_needed(name));
        let variables = variables.map(|(name, value)| format!("{name}={}", word(value)));
        let words = self.0.iter().map(|text| word(text));
        variables.chain(["redrive".to_owned()]).chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Selects the queue by its ARN, so that a profile that has since changed its account does not reach a namesake there.
    fn on(self, typed: &Typed, queue: &DeadLetterQueue, source: Option<&String>) -> Result<Self, String> {
        let arn = match (source, queue.sources.as_slice()) {
            (Some(source), sources) if !sources.contains(source) => {
                return Err(format!("source is {source}, allowed: {}", sources.join(", ")));
            }
            (Some(source), _) | (None, [source]) => source,
            (None, _) => &queue.arn,
        };
        Ok(self.flag("queue", Some(arn)).at(typed, queue))
    }

    fn at(mut self, typed: &Typed, queue: &DeadLetterQueue) -> Self {
        self.1.clone_from(&typed.environment);
        self.flag("region", Some(&queue.region))
            .flag("profile", queue.profile.as_ref())
            .flag("endpoint-url", typed.endpoint_url.as_ref())
            .flag("timeout", typed.timeout)
    }
}

/// Returns `dlq list` for one queue.
///
/// # Errors
/// The queue does not serve this source.
pub(super) fn list(typed: &Typed, queue: &DeadLetterQueue, listing: &Listing) -> Result<Words, String> {
    let words = Words::new(&["dlq", "list"]).on(typed, queue, listing.source.as_ref())?;
    let flags: Vec<&str> = [(listing.logs, "--logs"), (listing.may_move, "--yes")]
        .into_iter()
        .filter_map(|(is_set, flag)| is_set.then_some(flag))
        .collect();
    let words = words.and(&flags);
    Ok(listing.conditions.iter().fold(words, |words, condition| words.flag("where", Some(condition))))
}

/// Returns `dlq list --all`.
pub(super) fn list_all(typed: &Typed) -> Words {
    let mut words = Words::new(&["dlq", "list", "--all"]).flag("max", Some(MOST_OF_EACH));
    words.1.clone_from(&typed.environment);
    let words = typed.profiles.iter().fold(words, |words, profile| words.flag("profile", Some(profile)));
    let words = typed.regions.iter().fold(words, |words, region| words.flag("region", Some(region)));
    words.flag("endpoint-url", typed.endpoint_url.as_ref()).flag("timeout", typed.timeout)
}

/// A request to list a queue last for a time. Without a time it ends the snooze.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Snoozing {
    pub(super) queue: String,
    #[serde(default, rename = "for")]
    time: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

/// Returns `fleet snooze` or `fleet wake`.
pub(super) fn snooze(typed: &Typed, queue: &DeadLetterQueue, snoozing: &Snoozing) -> Words {
    match &snoozing.time {
        Some(time) => Words::new(&["fleet", "snooze", &queue.arn])
            .flag("for", Some(time))
            .flag("reason", snoozing.reason.as_ref())
            .at(typed, queue),
        None => Words::new(&["fleet", "wake", &queue.arn]).at(typed, queue),
    }
}

/// Returns the command that changes letters. A program writes their ids to its stdin, and a person to a file.
///
/// # Errors
/// There is nothing to do, or the verb does not have a setting.
pub(super) fn act(
    typed: &Typed,
    queue: &DeadLetterQueue,
    action: &LetterAction,
    export: Option<&Path>,
) -> Result<(Words, Words), String> {
    let LetterAction { verb, ids, stages, wait, document, .. } = action;
    if action.all && (*verb != Verb::Retry || !ids.is_empty()) {
        return Err("all is for retry, without ids".to_owned());
    }
    if ids.is_empty() && !action.all {
        return Err("ids is empty, allowed: the ids of letters".to_owned());
    }
    if let Some(id) =
        ids.iter().find(|id| id.is_empty() || id.chars().any(|c| c.is_whitespace() || c.is_control()))
    {
        return Err(format!("ids has {id:?}, allowed: the ids of letters"));
    }
    let is_watched = *verb == Verb::Retry;
    if !is_watched && (stages.is_some() || wait.is_some()) {
        return Err(format!("stages and wait are for retry, not for {}", verb.name()));
    }
    if (*verb == Verb::Edit) != document.is_some() || document.is_some() && ids.len() != 1 {
        return Err("edit takes the id and the document of one letter".to_owned());
    }
    document.as_deref().map_or(Ok(()), check_document)?;
    if action.export && *verb != Verb::Delete {
        return Err(format!("export is for delete, not for {}", verb.name()));
    }
    if action.export && export.is_none() {
        return Err("there is no folder for exports: set XDG_STATE_HOME or HOME".to_owned());
    }
    if *verb != Verb::Delete && action.source.is_none() && queue.sources.len() > 1 {
        return Err(format!("source is missing, allowed: {}", queue.sources.join(", ")));
    }
    let words = |ids: &str| {
        let words = match verb {
            Verb::Retry => Words::new(&["dlq", "retry"]),
            Verb::Edit => Words::new(&["dlq", "retry", "--edit"]),
            Verb::Delete => Words::new(&["dlq", "delete"]),
        };
        let words = words.on(typed, queue, action.source.as_ref())?.flag("ids", (!action.all).then_some(ids));
        let words = match is_watched {
            true => words.and(&["--watch"]).flag("stages", stages.as_ref()).flag("wait", wait.as_ref()),
            false => words,
        };
        let account = (*verb == Verb::Delete).then_some(&queue.account);
        let export = export.filter(|_| action.export).map(|file| file.display());
        Ok::<_, String>(words.flag("account", account).flag("export", export))
    };
    Ok((words("-")?, words("letters.txt")?))
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(in crate::console) fn queue(sources: &[&str]) -> DeadLetterQueue {
        DeadLetterQueue {
            name: "orders-dead".to_owned(),
            arn: "arn:aws:sqs:eu-west-1:123456789012:orders-dead".to_owned(),
            url: String::new(),
            account: "123456789012".to_owned(),
            region: "eu-west-1".to_owned(),
            profile: Some("shop".to_owned()),
            letters: 3,
            growth_per_hour: None,
            oldest_seconds: None,
            first_letter_expires: None,
            retention_seconds: 0,
            own_max_receive_count: None,
            sources: sources
                .iter()
                .map(|name| format!("arn:aws:sqs:eu-west-1:123456789012:{name}"))
                .collect(),
            owner: None,
            snoozed: None,
            seen: None,
        }
    }

    fn acted(sources: &[&str], mut asked: Value) -> Result<String, String> {
        asked["queue"] = json!("arn:aws:sqs:eu-west-1:123456789012:orders-dead");
        let action = serde_json::from_value(asked).map_err(|error| error.to_string())?;
        act(&Typed::default(), &queue(sources), &action, Some(Path::new("/e/1.jsonl")))
            .map(|(_, shown)| shown.typed())
    }

    #[test]
    fn an_action_is_a_command() {
        const ORDERS: &str = "--queue arn:aws:sqs:eu-west-1:123456789012:orders";
        const PLACE: &str = "--region eu-west-1 --profile shop --ids letters.txt";
        for (asked, sources, expected) in [
            (
                json!({ "verb": "retry", "ids": ["a"], "stages": "10,100,all", "wait": "30s" }),
                ["orders"].as_slice(),
                format!("redrive dlq retry {ORDERS} {PLACE} --watch --stages 10,100,all --wait 30s"),
            ),
            (
                json!({ "verb": "retry", "ids": ["a"], "stages": "it's; reboot" }),
                &[],
                format!("redrive dlq retry {ORDERS}-dead {PLACE} --watch --stages 'it'\\''s; reboot'"),
            ),
            (
                json!({ "verb": "delete", "ids": ["a", "b"] }),
                &["orders"],
                format!("redrive dlq delete {ORDERS} {PLACE} --account 123456789012"),
            ),
            (
                json!({ "verb": "retry", "all": true }),
                &["orders"],
                format!("redrive dlq retry {ORDERS} --region eu-west-1 --profile shop --watch"),
            ),
            (
                json!({ "verb": "delete", "ids": ["a"], "export": true }),
                &["orders"],
                format!("redrive dlq delete {ORDERS} {PLACE} --account 123456789012 --export /e/1.jsonl"),
            ),
            (
                json!({ "verb": "edit", "ids": ["a"], "document": r#"{"text":"x"}"# }),
                &["orders"],
                format!("redrive dlq retry --edit {ORDERS} {PLACE}"),
            ),
        ] {
            assert_eq!(acted(sources, asked), Ok(expected));
        }
    }

    #[test]
    fn an_action_that_no_verb_has_is_refused() {
        for (asked, expected) in [
            (json!({ "verb": "retry", "ids": [] }), "ids is empty"),
            (json!({ "verb": "retry", "ids": ["a\nb"] }), "ids has"),
            (json!({ "verb": "delete", "all": true }), "all is for retry"),
            (json!({ "verb": "retry", "ids": ["a"], "all": true }), "all is for retry, without ids"),
            (json!({ "verb": "purge", "ids": ["a"] }), "unknown variant"),
            (json!({ "verb": "retry", "ids": ["a"], "to": "other" }), "unknown field"),
            (json!({ "verb": "delete", "ids": ["a"], "stages": "1" }), "stages and wait are for retry"),
            (json!({ "verb": "edit", "ids": ["a", "b"], "document": "{}" }), "one letter"),
            (json!({ "verb": "edit", "ids": ["a"] }), "one letter"),
            (json!({ "verb": "retry", "ids": ["a"], "export": true }), "export is for delete"),
            (
                json!({ "verb": "retry", "ids": ["a"], "source": "arn:other" }),
                "source is arn:other, allowed: arn:aws:sqs:eu-west-1:123456789012:orders",
            ),
        ] {
            let error = acted(&["orders"], asked.clone()).expect_err("it is refused");
            assert!(error.contains(expected), "{asked}: {error}");
        }
    }

    #[test]
    fn letters_of_several_queues_go_back_to_one_that_is_named() {
        let of_two = |source: Option<&str>| {
            acted(&["a", "b"], json!({ "verb": "retry", "ids": ["1"], "source": source }))
        };
        assert!(of_two(None).unwrap_err().starts_with("source is missing, allowed: arn:"));
        let shown = of_two(Some("arn:aws:sqs:eu-west-1:123456789012:b")).unwrap();
        assert!(
            shown.starts_with("redrive dlq retry --queue arn:aws:sqs:eu-west-1:123456789012:b "),
            "{shown}"
        );
        assert!(acted(&["a", "b"], json!({ "verb": "delete", "ids": ["1"] })).is_ok());
    }

    #[test]
    fn no_value_becomes_a_flag() {
        let asked = json!({ "verb": "retry", "ids": ["--native"], "stages": "--native", "wait": "-1" });
        let shown = acted(&["orders"], asked).unwrap();
        assert!(shown.ends_with("--ids letters.txt --watch '--stages=--native' '--wait=-1'"), "{shown}");
        let snoozing =
            serde_json::from_value(json!({ "queue": "q", "for": "2d", "reason": "--yes" })).unwrap();
        let shown = snooze(&Typed::default(), &queue(&["orders"]), &snoozing).typed();
        let expected = "redrive fleet snooze arn:aws:sqs:eu-west-1:123456789012:orders-dead --for 2d '--reason=--yes' --region eu-west-1 --profile shop";
        assert_eq!(shown, expected);
    }

    #[test]
    fn letters_are_listed_by_conditions() {
        let listing = json!({ "queue": "q", "where": ["reason = panic", "body.id ~ ^A"], "logs": true, "may_move": true });
        let words = list(&Typed::default(), &queue(&["orders"]), &serde_json::from_value(listing).unwrap());
        let expected = "redrive dlq list --queue arn:aws:sqs:eu-west-1:123456789012:orders --region eu-west-1 --profile shop --logs --yes --where 'reason = panic' --where 'body.id ~ ^A'";
        assert_eq!(words.unwrap().typed(), expected);
        let typed =
            Typed { profiles: vec!["a".to_owned(), "b".to_owned()], timeout: Some(5), ..Typed::default() };
        assert_eq!(
            list_all(&typed).typed(),
            "redrive dlq list --all --max 10 --profile a --profile b --timeout 5"
        );
        let environment = vec![
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9324".to_owned()),
            ("AWS_PROFILE", "other".to_owned()),
            ("AWS_CONFIG_FILE", "my config".to_owned()),
        ];
        let typed = Typed { environment, ..Typed::default() };
        let expected = "AWS_ENDPOINT_URL=http://127.0.0.1:9324 AWS_PROFILE=other AWS_CONFIG_FILE='my config' redrive dlq list --all --max 10";
        assert_eq!(list_all(&typed).typed(), expected);
        let snoozing = serde_json::from_value(json!({ "queue": "q" })).unwrap();
        let shown = snooze(&typed, &queue(&["orders"]), &snoozing).typed();
        assert!(
            shown.contains("9324 AWS_CONFIG_FILE='my config' redrive fleet wake"),
            "a flag names the profile: {shown}"
        );
    }
}
