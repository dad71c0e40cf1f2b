//! Lists the variables and files that a command reads.

use clap::Command;

/// A flag of the commands that read it, empty for all, then its name and its description.
type Entry = (&'static str, &'static str, &'static str);

const VARIABLES: [Entry; 10] = [
    ("endpoint_url", "AWS_REGION, AWS_DEFAULT_REGION", "Region, if --region is not given."),
    ("endpoint_url", "AWS_PROFILE", "Profile of your AWS settings, if --profile is not given."),
    (
        "endpoint_url",
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN",
        "Credentials. An endpoint on this machine needs none.",
    ),
    (
        "endpoint_url",
        "AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_SQS",
        "Endpoint to call instead of AWS, if --endpoint-url is not given: for all services, or for SQS.",
    ),
    ("endpoint_url", "AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE", "Files to read instead of those below."),
    ("origin_senders", "REDRIVE_ORIGIN_SENDERS", "Ids of senders, if --origin-senders is not given."),
    ("journal", "REDRIVE_JOURNAL", "Folder, dynamodb:TABLE or off, if --journal is not given."),
    ("edits", "VISUAL, EDITOR", "Editor for letters."),
    ("release", "CARGO", "Cargo command that builds functions [default: cargo]."),
    ("", "NO_COLOR", "If set, output has no colors."),
];

const FILES: [Entry; 5] = [
    ("template", "template.yaml", "Template to read if no other is given."),
    ("endpoint_url", "~/.aws/config, ~/.aws/credentials", "Your AWS settings, shared with the AWS CLI."),
    ("journal", "~/.local/state/redrive", "Journal, history and snoozes of this machine."),
    ("folder", "~/.local/share/man/man1", "Where man finds your own manual pages."),
    ("shell", "~/.local/share/bash-completion/completions", "Where bash finds your own completions."),
];

pub(super) fn variables(command: &Command) -> Vec<(&'static str, &'static str)> {
    of(&VARIABLES, command)
}

pub(super) fn files(command: &Command) -> Vec<(&'static str, &'static str)> {
    of(&FILES, command)
}

fn of(entries: &[Entry], command: &Command) -> Vec<(&'static str, &'static str)> {
    let entries = entries.iter().filter(|(flag, ..)| has(command, flag));
    entries.map(|(_, name, meaning)| (*name, *meaning)).collect()
}

/// Returns true if the command or one of its verbs has this flag.
fn has(command: &Command, flag: &str) -> bool {
    let edits = flag == "edits" && ["retry", "triage"].contains(&command.get_name());
    flag.is_empty()
        || edits
        || command.get_arguments().any(|argument| argument.get_id() == flag)
        || command.get_subcommands().any(|command| has(command, flag))
}
