//! Reads errors from the function's log, because SQS writes no note on letters that it moves.

mod entry;
mod pattern;

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use aws_sdk_cloudwatchlogs::Client;

pub(crate) use self::entry::LogEntry;
use super::letter::{Letter, Logged};
use crate::aws::{Aws, DescribeError, code_of};
use crate::find::Pair;
use crate::tell::tell;

/// Number of letters to look for at once: one filter pattern takes that many ids.
pub(crate) const TOGETHER: usize = 25;

/// Number of calls at most. An account may make five or a few more per second, and each may read much.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html>
const CALLS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(60);
/// Margin before the start, because the log's clock may be behind that of SQS.
const EARLIER: Duration = Duration::from_secs(60);

/// A log group, and the number of calls that are left.
#[derive(Debug)]
pub(crate) struct Logs {
    client: Client,
    group: String,
    function: String,
    calls: usize,
    until: Instant,
    /// True if some answers were not read, because there were too many or they took too long.
    pub(crate) cut_short: bool,
}

impl Logs {
    /// Finds the log group: the given one, else the one in the stack's outputs, else the one in the settings of the function
    /// that the queue feeds, else `/aws/lambda/NAME`.
    ///
    /// # Errors
    /// The queue feeds no function, or several.
    pub(crate) async fn find(aws: &Aws, pair: &Pair, given: Option<&str>) -> anyhow::Result<Self> {
        let of_stack = pair.stack.as_ref().and_then(|stack| stack.log_group_name.clone());
        let (group, function) = match (given, of_stack) {
            (Some(group), _) => (group.to_owned(), String::new()),
            (None, Some(group)) => {
                let function = pair.stack.as_ref().and_then(|stack| stack.function_name.clone());
                (group, function.unwrap_or_default())
            }
            (None, None) => {
                let name = pair.function(aws).await?;
                let name =
                    name.context("the queue feeds no function, and no note names one: pass --log-group")?;
                (of_function(aws, &name).await?, name)
            }
        };
        Ok(Self::new(aws, group, function))
    }

    /// Finds the log group of the function that the notes of these letters name, if any does.
    ///
    /// # Errors
    /// The notes name several functions.
    pub(crate) async fn of_notes(aws: &Aws, letters: &[Letter]) -> anyhow::Result<Option<Self>> {
        let names: BTreeSet<&str> = letters.iter().filter_map(named_function).collect();
        match names.into_iter().collect::<Vec<_>>()[..] {
            [] => Ok(None),
            [name] => Ok(Some(Self::new(aws, of_function(aws, name).await?, name.to_owned()))),
            ref several => {
                bail!("the notes name several functions ({}): pass --log-group", several.join(", "))
            }
        }
    }

    fn new(aws: &Aws, group: String, function: String) -> Self {
        let until = Instant::now() + PATIENCE;
        Self { client: aws.logs(), group, function, calls: CALLS, until, cut_short: false }
    }

    pub(crate) fn group(&self) -> &str {
        &self.group
    }

    /// Adds the last failure to each letter without a note, or an empty one if the log does not mention the letter.
    ///
    /// # Errors
    /// The log group does not exist, or permission is missing.
    pub(crate) async fn join(&mut self, letters: &mut [Letter]) -> anyhow::Result<()> {
        let silent: Vec<&Letter> = letters.iter().filter(|letter| letter.is_silent()).collect();
        let entries = self.entries(&silent).await?;
        for letter in letters.iter_mut().filter(|letter| letter.is_silent()) {
            let last = entries.get(letter.message_id()).and_then(|entries| last_failure(entries));
            letter.logged = match last {
                Some(logged) => Some(Logged { function: self.function.clone(), ..logged }),
                // The part that was not read may mention it.
                None => (!self.cut_short).then(Logged::default),
            };
        }
        Ok(())
    }

    /// Returns the log entries of these letters by message id, the earliest first.
    ///
    /// # Errors
    /// The log group does not exist, or permission is missing.
    pub(crate) async fn entries(
        &mut self,
        letters: &[&Letter],
    ) -> anyhow::Result<HashMap<String, Vec<LogEntry>>> {
        let mut entries: HashMap<String, Vec<LogEntry>> = HashMap::new();
        let Some(since) = letters.iter().filter_map(|letter| letter.sent_at()).min() else {
            return Ok(entries);
        };
        for pattern in pattern::any_of(letters.iter().map(|letter| letter.message_id())) {
            for (line, at) in self.lines(&pattern, since).await? {
                let entry = LogEntry::parse(&line, at);
                for letter in letters {
                    let id = letter.message_id();
                    let about =
                        entry.message_id.as_deref().map_or_else(|| line.contains(id), |named| named == id);
                    if about {
                        entries.entry(id.to_owned()).or_default().push(entry.clone());
                    }
                }
            }
        }
        entries.values_mut().for_each(|entries| entries.sort_by_key(|entry| entry.at));
        Ok(entries)
    }

    /// Returns the durations of invocations by request id.
    ///
    /// # Errors
    /// Permission is missing.
    pub(crate) async fn durations(
        &mut self,
        request_ids: &[String],
        since: SystemTime,
    ) -> anyhow::Result<HashMap<String, Duration>> {
        let texts: Vec<String> = request_ids.iter().map(|id| format!("REPORT RequestId: {id}")).collect();
        let mut found = HashMap::new();
        for pattern in pattern::any_of(texts.iter().map(String::as_str)) {
            found.extend(
                self.lines(&pattern, since).await?.iter().filter_map(|(line, _)| entry::report(line)),
            );
        }
        if found.is_empty() {
            for pattern in pattern::reports_of(request_ids.iter().map(String::as_str)) {
                found.extend(
                    self.lines(&pattern, since).await?.iter().filter_map(|(line, _)| entry::report(line)),
                );
            }
        }
        Ok(found)
    }

    /// Reads all pages. A page may be empty although more pages follow.
    /// <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html>
    async fn lines(&mut self, pattern: &str, since: SystemTime) -> anyhow::Result<Vec<(String, SystemTime)>> {
        let since = since.checked_sub(EARLIER).unwrap_or(SystemTime::UNIX_EPOCH);
        let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
        let mut lines = Vec::new();
        let mut token = None;
        loop {
            if self.calls == 0 || Instant::now() >= self.until {
                self.cut_short = true;
                return Ok(lines);
            }
            self.calls -= 1;
            let page = self
                .client
                .filter_log_events()
                .log_group_name(&self.group)
                .start_time(since.try_into().unwrap_or(i64::MAX))
                .filter_pattern(pattern)
                .set_next_token(token)
                .send()
                .await;
            if let Err(error) = &page
                && code_of(error) == Some("ResourceNotFoundException")
            {
                bail!("there is no log group {}: pass --log-group", self.group);
            }
            let page =
                page.describe_error(&format!("read the log {}", self.group), "logs:FilterLogEvents")?;
            lines.extend(page.events().iter().filter_map(|event| {
                let at = u64::try_from(event.timestamp()?).ok()?;
                Some((event.message()?.to_owned(), SystemTime::UNIX_EPOCH + Duration::from_millis(at)))
            }));
            token = page.next_token;
            if token.is_none() {
                return Ok(lines);
            }
        }
    }
}

/// Returns the function that the letter's note names, if a function can have this name: anyone who may send to the queue may
/// write a note.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html>
pub(crate) fn named_function(letter: &Letter) -> Option<&str> {
    let name = letter.note.as_ref()?.function.as_str();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    ((1..=64).contains(&name.len()) && name.chars().all(is_allowed)).then_some(name)
}

/// Returns redrive's last verdict, else the last line with an error, else the last line.
fn last_failure(entries: &[LogEntry]) -> Option<Logged> {
    let last = |is: fn(&LogEntry) -> bool| entries.iter().rev().find(|entry| is(entry));
    let found = last(|entry| entry.ends_attempt && entry.has_error()).or_else(|| last(LogEntry::has_error));
    match found {
        Some(entry) => Some(entry.logged.clone()),
        None => entries.last().map(|entry| Logged { error: entry.what.clone(), ..entry.logged.clone() }),
    }
}

/// <https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-loggroups.html>
async fn of_function(aws: &Aws, name: &str) -> anyhow::Result<String> {
    let read = aws.lambda().get_function_configuration().function_name(name).send().await;
    let by_default = format!("/aws/lambda/{name}");
    match read {
        Ok(read) => {
            let set = read.logging_config().and_then(|logging| logging.log_group());
            Ok(set.map_or(by_default, str::to_owned))
        }
        // The log of a deleted function remains.
        Err(error) if code_of(&error) == Some("ResourceNotFoundException") => Ok(by_default),
        // A user who may read logs may lack permission to read functions.
        Err(error) if code_of(&error).is_some_and(|code| code.contains("AccessDenied")) => {
            tell(format_args!(
                "warning: the log group is assumed to be {by_default}: lambda:GetFunctionConfiguration is not allowed"
            ));
            Ok(by_default)
        }
        Err(error) => {
            Err(error).describe_error(&format!("read the function {name}"), "lambda:GetFunctionConfiguration")
        }
    }
}
