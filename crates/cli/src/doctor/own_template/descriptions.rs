//! Descriptions of alarms, for the person on call.

use std::collections::BTreeSet;

use clap::CommandFactory;
use redrive_iac::Resource;

use super::{ALARM, OwnTemplate, Stack, text};
use crate::arguments::Arguments;

/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
const LONGEST: usize = 1_024;
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html>
const LONGEST_STACK: usize = 128;

/// Requires three sentences: what the alarm means for which stack, whether it can wait, and a command. An alarm on a number stays
/// on, and does not notify anybody when the number grows.
pub(super) fn alarms_name_a_command_to_type(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (alarm, description) in descriptions(&template.with(&[])) {
        let id = &alarm.id;
        let sentences: Vec<&str> = description.split(". ").collect();
        if sentences.len() != 3 {
            wrong.push(format!("{id} has {} sentences", sentences.len()));
        }
        if !description.contains("the stack stack ") && !description.contains("the stack stack.") {
            wrong.push(format!("{id} does not name its stack"));
        }
        if !description.contains("wait until morning") {
            wrong.push(format!("{id} does not say whether it can wait until morning"));
        }
        let is_of_letters = text(&alarm.properties, "MetricName") == "ApproximateNumberOfMessagesVisible";
        if is_of_letters && !description.contains("urgent if their number grows") {
            wrong.push(format!("{id} does not say that a growing number is urgent"));
        }
        let typed = description.rsplit("Type: ").next().unwrap_or_default();
        if !is_command(typed) {
            wrong.push(format!("{id} is no command: {typed}"));
        }
    }
    let address = format!("https://{}", "a".repeat(longest_address(template)));
    let longest = template.stack(&"s".repeat(LONGEST_STACK), "ap-northeast-1", &[("RunbookUrl", &address)]);
    let lengths = descriptions(&longest).map(|(alarm, description)| (alarm, description.chars().count()));
    let too_long = lengths.filter(|(_, length)| *length > LONGEST);
    wrong.extend(too_long.map(|(alarm, length)| {
        format!("the description of {} has {length} characters, {LONGEST} are allowed", alarm.id)
    }));
    wrong
}

pub(super) fn alarms_lead_to_their_runbook_entry(template: &OwnTemplate<'_>) -> Vec<String> {
    let address = "https://example.com/runbook";
    let entry = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " _-".contains(*c));
        kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
    };
    let headings = template.runbook.lines().filter(|line| line.starts_with('#'));
    let entries: BTreeSet<_> = headings.map(|line| entry(line.trim_start_matches('#'))).collect();
    let links = template.runbook.split("](#").skip(1).filter_map(|rest| rest.split(')').next());
    let dead = links.filter(|link| !entries.contains(*link));
    let mut wrong: Vec<_> = dead.map(|link| format!("the runbook has no entry #{link}")).collect();
    for (alarm, description) in descriptions(&template.with(&[("RunbookUrl", address)])) {
        let anchor = alarm.name.rsplit('-').next().unwrap_or_default().to_lowercase();
        if !description.ends_with(&format!(" Runbook: {address}#{anchor}")) {
            wrong.push(format!("the description of {} does not end with #{anchor}", alarm.id));
        }
        if !entries.contains(&anchor) {
            wrong.push(format!("the runbook has no entry #{anchor}"));
        }
    }
    wrong
}

fn descriptions(stack: &Stack) -> impl Iterator<Item = (&Resource, &str)> {
    stack.all(ALARM).map(|alarm| (alarm, text(&alarm.properties, "AlarmDescription")))
}

/// Returns true for a valid `redrive` command, and for the AWS CLI's log search in version 1 and 2, which
/// dev/emulators/deployment.py types.
fn is_command(typed: &str) -> bool {
    let words = typed.split(' ');
    match typed.split_once(' ') {
        Some(("redrive", _)) => Arguments::command().try_get_matches_from(words).is_ok(),
        _ => matches!(
            words.collect::<Vec<_>>()[..],
            ["aws", "logs", "filter-log-events", "--log-group-name", group, "--region", _, "--start-time", ..]
                if group.starts_with("/aws/")
        ),
    }
}

/// Includes templates that have no rules.
#[test]
fn every_alarm_of_any_template_names_a_command_that_exists() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [".", "examples/deploy", "examples/any"];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let files = files
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|end| end == "yaml"));
    let mut alarms = 0;
    for file in files {
        let template = std::fs::read_to_string(&file).unwrap();
        if !template.contains(ALARM) {
            continue;
        }
        let template = OwnTemplate::of(&template, "");
        let mut given = [&super::worker::GIVEN[..], &[super::WITH_EMAIL]].concat();
        given.retain(|(known, _)| template.declared("Parameters").iter().any(|(name, _)| name == known));
        let template = OwnTemplate { given: &given, ..template };
        for (alarm, description) in descriptions(&template.with(&[])) {
            if let Some((_, typed)) = description.rsplit_once("Type: ") {
                assert!(is_command(typed), "{} of {}: {typed}", alarm.id, file.display());
                alarms += 1;
            }
        }
    }
    assert!(alarms > 10, "{alarms} say what to type");
}

/// Returns how many characters the pattern of RunbookUrl allows after the scheme.
fn longest_address(template: &OwnTemplate<'_>) -> usize {
    let parameter = template.declared("Parameters").iter().find(|(name, _)| name == "RunbookUrl");
    let pattern = parameter.map(|(_, parameter)| text(parameter, "AllowedPattern")).unwrap_or_default();
    pattern.rsplit_once("{1,").and_then(|(_, rest)| rest.split('}').next()?.parse().ok()).unwrap_or(LONGEST)
}
