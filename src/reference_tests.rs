//! The code writes `docs/reference.md`: `UPDATE=1 cargo test reference` updates it, and without `UPDATE` it is compared.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{env, fs};

use redrive_observers::metrics::Gauges;
use redrive_observers::{BatchReport, emf};

use crate::settings::{InvalidSetting, Metrics, Settings};
use crate::telemetry::metrics::metric_names;
use redrive_sqs::{DeadLetter, Origin};

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap()
}

/// Writes `text` between `<!-- NAME -->` and `<!-- /NAME -->`, or checks that it is there.
fn keep(file: &str, name: &str, text: &str) {
    // Tests run at the same time, and two of them may write the same page.
    static PEN: Mutex<()> = Mutex::new(());
    let _pen = PEN.lock().unwrap_or_else(PoisonError::into_inner);
    let page = read(file);
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (head, rest) = page.split_once(&begin).unwrap();
    let (_, tail) = rest.split_once(&end).unwrap();
    write_or_compare(file, &page, &format!("{head}{begin}{text}{end}{tail}"));
}

fn write_or_compare(file: &str, found: &str, wanted: &str) {
    if env::var_os("UPDATE").is_some() {
        fs::write(path(file), wanted).unwrap();
    } else {
        assert_eq!(found, wanted, "{file} is out of date: run UPDATE=1 cargo test reference");
    }
}

/// Returns the first paragraph of the doc comment above the first line of the source that begins with `item`, as Markdown for
/// pages outside of the crate.
fn docs(source: &str, item: &str) -> String {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| line.starts_with(item)).unwrap_or_else(|| panic!("no {item}"));
    let above = lines[..at].iter().rev().skip_while(|line| line.starts_with("#["));
    let mut doc: Vec<_> = above.map_while(|line| line.strip_prefix("///")).map(str::trim).collect();
    doc.reverse();
    let mut text = doc.split(|line| line.is_empty()).next().unwrap().join(" ");
    // Links lead into the crate, where this page is not.
    while let Some((head, (name, tail))) =
        text.split_once('[').and_then(|(head, rest)| Some((head, rest.split_once(']')?)))
    {
        let tail =
            tail.strip_prefix('(').and_then(|tail| tail.split_once(')')).map_or(tail, |(_, tail)| tail);
        text = format!("{head}{name}{tail}");
    }
    text
}

/// Returns the variables in the order of reading.
fn variables() -> Vec<String> {
    let names = RefCell::new(Vec::new());
    Settings::default()
        .or_environment(|name| {
            names.borrow_mut().push(name.to_owned());
            None
        })
        .unwrap();
    names.into_inner()
}

/// Returns the allowed values in a refusal, without the parser's own words in parentheses.
fn allowed(refusal: &InvalidSetting) -> String {
    let text = refusal.to_string();
    let (_, allowed) = text.split_once(", allowed: ").unwrap();
    allowed
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
        .map_or(allowed, |(text, _)| text)
        .to_owned()
}

/// A setting with its name, description, default, and allowed values.
struct Setting {
    variable: String,
    what: String,
    default: String,
    allowed: String,
}

fn settings() -> Vec<Setting> {
    let (table, builder) = (read("src/settings/table.rs"), read("src/consumer/builder.rs"));
    let of_variable = |variable: String| {
        let doc = match &*variable {
            // One call for each queue.
            "REDRIVE_QUEUES" => docs(&builder, "pub fn queue("),
            _ => docs(&table, &format!("\"{variable}\"")),
        };
        let (what, rest) = doc.split_once(" Default: ").unwrap_or_else(|| panic!("no default in {variable}"));
        let (default, more) = rest.split_once(". ").unwrap_or((rest.trim_end_matches('.'), ""));
        let refusal =
            Settings::default().or_environment(|name| (name == variable).then(|| "\u{1}".to_owned()));
        Setting {
            what: format!("{what} {more}").trim_end().to_owned(),
            default: default.to_owned(),
            allowed: allowed(&refusal.unwrap_err()),
            variable,
        }
    };
    let queue_url = Setting {
        variable: "REDRIVE_QUEUE_URL".to_owned(),
        what: "The queue that a process outside of Lambda polls as a worker. On Lambda it has no effect."
            .to_owned(),
        default: "none".to_owned(),
        allowed: "a queue URL such as https://sqs.eu-central-1.amazonaws.com/123456789012/orders".to_owned(),
    };
    let log = Setting {
        variable: "REDRIVE_LOG".to_owned(),
        what: "What redrive logs, unless the program has its own subscriber. If the function's log format is JSON, \
            Lambda drops lines below its `ApplicationLogLevel`."
            .to_owned(),
        default: "the function's `ApplicationLogLevel` (`AWS_LAMBDA_LOG_LEVEL`), or `info`".to_owned(),
        allowed: allowed(&InvalidSetting::log("", &"")),
    };
    let table = Setting {
        variable: "REDRIVE_IDEMPOTENCY_TABLE".to_owned(),
        what: "The DynamoDB table in which `redrive-dynamodb` remembers handled messages.".to_owned(),
        default: "none".to_owned(),
        allowed: "the name of a table".to_owned(),
    };
    variables().into_iter().map(of_variable).chain([queue_url, table, log]).collect()
}

/// Returns a link to the section of the book that explains a setting, if there is one.
fn see(variable: &str) -> Option<&'static str> {
    let link = match variable {
        "REDRIVE_BACKOFF" => "[How long a message waits](failures.md#how-long-a-message-waits)",
        "REDRIVE_OVERRIDES" => "[Message attributes](#message-attributes)",
        "REDRIVE_ORIGIN_SENDERS" => "[Trusted senders](send-back.md#name-the-senders-that-you-trust)",
        "REDRIVE_ON_PANIC" => "[Panics](failures.md#panics)",
        "REDRIVE_LAST_DELIVERY" => "[On the last delivery](failures.md#on-the-last-delivery)",
        "REDRIVE_OUTAGE_HORIZON" => "[Survive outages](outages.md)",
        "REDRIVE_RATE" => "[Limit the rate](rates.md)",
        "REDRIVE_METRICS" => "[Metrics](metrics.md#choose-what-redrive-publishes)",
        "REDRIVE_DRAIN" | "REDRIVE_TASK_PROTECTION" => "[Shutdown](worker.md#shutdown)",
        "REDRIVE_HEALTH" => "[Health and metrics](worker.md#health-and-metrics)",
        "REDRIVE_ADAPTIVE_CONCURRENCY" => "[Limit the rate](rates.md#if-you-do-not-know-the-rate)",
        "REDRIVE_QUEUES" => "[Several queues](deploying.md#feed-one-function-from-several-queues)",
        "REDRIVE_IDEMPOTENCY_TABLE" => "[Keep records in DynamoDB](idempotency.md#keep-records-in-dynamodb)",
        _ => return None,
    };
    Some(link)
}

#[test]
fn the_settings_of_the_reference_are_those_of_the_code() {
    let section = |Setting { variable, what, allowed, .. }: &Setting| {
        let see = see(variable).map(|link| format!(" See {link}.")).unwrap_or_default();
        format!("### {variable}\n\n{what}{see}\n\nAllowed: {allowed}.\n\n")
    };
    keep("docs/reference.md", "settings", &settings().iter().map(section).collect::<String>());
}

#[test]
fn the_overview_of_the_settings_has_their_defaults() {
    let row = |Setting { variable, default, .. }: &Setting| {
        format!("| [`{variable}`](#{}) | {default} |\n", variable.to_lowercase())
    };
    let rows: String = settings().iter().map(row).collect();
    let head = "| variable | default |\n| --- | --- |\n";
    keep("docs/reference.md", "overview", &format!("{head}{rows}"));
}

#[test]
fn the_metrics_of_the_reference_are_those_that_are_published() {
    let mut report = BatchReport::default();
    report.records = 1;
    report.worker_durations = vec![Duration::ZERO];
    report.response_times = vec![Duration::ZERO];
    let gauges = Some(Gauges { in_hand: 0, workers: 1 });
    let line: serde_json::Value =
        serde_json::from_str(&emf::lines(&report, gauges, "Redrive", SystemTime::UNIX_EPOCH)[0]).unwrap();
    let calls = metric_names(Metrics::CloudWatch);
    let field = |name: &str| {
        let words =
            name.chars().flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain(c.to_lowercase()));
        words.collect::<String>().trim_start_matches('_').to_owned()
    };
    let source = [read("crates/observers/src/report.rs"), read("crates/observers/src/metrics.rs")].concat();
    let row = |metric: &serde_json::Value| {
        let (name, unit) = (metric["Name"].as_str().unwrap(), metric["Unit"].as_str().unwrap());
        // A field that holds one value for each message is a plural.
        let doc = docs(&source, &format!("pub {}", field(name)));
        let unit = if unit == "Milliseconds" { " (ms)" } else { "" };
        let only = if calls.contains(&name) { "" } else { ". Only with `emf`" };
        format!("| `{name}`{unit} | {}{only} |\n", doc.trim_end_matches('.'))
    };
    let rows: String =
        line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap().iter().map(row).collect();
    let head = "| metric | what it counts or measures |\n| --- | --- |\n";
    keep("docs/reference.md", "metrics", &format!("{head}{rows}"));
}

#[test]
fn the_fields_of_the_note_are_those_of_the_code() {
    let source = [read("crates/sqs/src/note.rs"), read("crates/sqs/src/origin.rs")].concat();
    let fields = |item: &str| {
        let body = source.split(item).nth(1).unwrap().split("\n}").next().unwrap();
        let names = body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": "));
        let row = |(name, _): (&str, &str)| {
            format!("| `{name}` | {} |\n", docs(body, &format!("pub {name}: ")).trim_end_matches('.'))
        };
        names.map(row).collect::<String>()
    };
    let head = "| field | what |\n| --- | --- |\n";
    let (note, origin) = (fields("pub struct DeadLetter {"), fields("pub struct Origin {"));
    let text = format!(
        "The attribute `{}` of a letter says, as JSON, why redrive gave up on the message:\n\n{head}{note}\n\
         `redrive dlq retry` adds the attribute `{}` to each message:\n\n{head}{origin}",
        DeadLetter::ATTRIBUTE,
        Origin::ATTRIBUTE
    );
    keep("docs/reference.md", "note", &text);
}

#[test]
fn the_reasons_of_the_runbook_are_those_that_are_decided() {
    let decide = read("crates/engine/src/decide.rs") + &read("src/once/claim.rs");
    let code = decide.replace("#[cfg(test)]", "");
    let is_reason =
        |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let mut decided: BTreeSet<_> = code.split('"').skip(1).step_by(2).filter(is_reason).collect();
    // The reason that `redrive dlq` shows for a letter without a note.
    decided.insert("redrive-policy");
    let runbook = read("docs/runbook.md");
    let table = runbook.split("| `reason` |").nth(1).unwrap().split("\n\n").next().unwrap();
    let explained: BTreeSet<_> = table.split('`').skip(1).step_by(2).collect();
    assert_eq!(decided, explained);
}
