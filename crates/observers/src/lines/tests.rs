//! Compares the lines with those of `tracing_subscriber`, which they replace.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::{Value, json};
use tracing::field::Empty;
use tracing::{error, error_span, info, info_span, warn};
use tracing_subscriber::layer::SubscriberExt;

use super::*;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    /// Returns the lines without the time.
    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let line = |line| {
            let mut line: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let time = line["timestamp"].take();
            let time = time.as_str().unwrap();
            assert!(time.len() == 27 && humantime::parse_rfc3339(time).is_ok(), "{time}");
            line
        };
        text.lines().map(line).collect()
    }
}

/// Returns the lines of this crate and those of `tracing_subscriber`.
fn both(logged: impl FnOnce()) -> [Vec<Value>; 2] {
    let [ours, theirs] = [Kept::default(), Kept::default()];
    let (out, writer) = (ours.clone(), theirs.clone());
    let lines = Lines(move |line: &[u8]| out.0.lock().unwrap().extend_from_slice(line));
    let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(false);
    let layer = layer.with_writer(move || writer.clone());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines).with(layer), logged);
    [ours, theirs].map(|kept| kept.lines())
}

/// Returns the lines, and checks that `tracing_subscriber` writes the same.
fn lines(logged: impl FnOnce()) -> Vec<Value> {
    let [ours, theirs] = both(logged);
    assert_eq!(ours, theirs);
    ours
}

#[test]
fn lines_are_those_of_tracing_subscriber() {
    let logged = lines(|| {
        info!("outside of every span");
        let batch = error_span!("batch", request_id = "r-1", records = 2_usize);
        let _batch = batch.enter();
        info!(queue = "orders", succeeded = 2_u64, "batch done");
        let message = error_span!(parent: &batch, "message", message_id = "a\"1", attempt = 1_u32, group = None::<&str>);
        let _message = message.enter();
        let error: &(dyn std::error::Error + 'static) = &fmt::Error;
        warn!(error, half = 0.5, nan = f64::NAN, less = -1_i64, yes = true, id = ?Some("a\n"), shown = %"b\u{1f600}", "failed {}", 7);
        error!(target: "elsewhere", empty = Empty, large = u64::MAX, huge = u128::MAX);
    });
    assert_eq!(
        logged[3]["spans"],
        json!([
            { "name": "batch", "request_id": "r-1", "records": 2 },
            { "name": "message", "message_id": "a\"1", "attempt": 1 },
        ])
    );
    assert_eq!((&logged[0]["level"], &logged[0]["spans"]), (&json!("INFO"), &Value::Null));
}

#[test]
fn fields_recorded_later_are_written_and_the_last_value_counts() {
    let logged = lines(|| {
        let span = info_span!("s", late = Empty, other = 1);
        span.record("late", 1);
        span.in_scope(|| info!("once"));
        span.record("late", "now").record("other", "{\"}");
        span.in_scope(|| info!("twice"));
        let span = info_span!("t", late = Empty);
        span.in_scope(|| info!("nothing"));
        span.record("late", "now");
        span.in_scope(|| info!("something"));
    });
    assert_eq!(logged[1]["spans"], json!([{ "name": "s", "late": "now", "other": "{\"}" }]));
    assert_eq!(logged[2]["spans"], json!([{ "name": "t" }]));
}

#[test]
fn an_odd_name_is_written_as_it_is_meant() {
    let [ours, _] = both(|| {
        let span = info_span!("s", r#type = 1, "\"" = Empty);
        span.record("\"", 3);
        span.in_scope(|| info!(r#type = 2, "x"));
    });
    assert_eq!(ours[0]["spans"][0]["\""], 3);
    assert_eq!((&ours[0]["type"], &ours[0]["spans"][0]["type"]), (&json!(2), &json!(1)));
}

/// `tracing_subscriber` panics at such a value.
#[test]
fn a_value_that_fails_is_there_as_far_as_it_was() {
    struct Broken;
    impl fmt::Debug for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("ha\"lf")?;
            Err(fmt::Error)
        }
    }
    let kept = Kept::default();
    let out = kept.clone();
    let lines = Lines(move |line: &[u8]| out.0.lock().unwrap().extend_from_slice(line));
    let subscriber = tracing_subscriber::registry().with(lines);
    tracing::subscriber::with_default(subscriber, || info!(broken = ?Broken, whole = 1, "x"));
    let [line] = &kept.lines()[..] else { panic!("one line") };
    assert_eq!((&line["broken"], &line["whole"]), (&json!("ha\"lf"), &json!(1)));
}

proptest! {
    #[test]
    fn any_text_is_read_as_it_was_written(text: String) {
        let logged = lines(|| info_span!("s", text).in_scope(|| info!(text, shown = %text, "x")));
        prop_assert_eq!(logged[0]["text"].as_str(), Some(text.as_str()));
        prop_assert_eq!(logged[0]["spans"][0]["text"].as_str(), Some(text.as_str()));
    }
}

/// The text is in fields of an event and of a span, and in the message, written as text, by `Display` and by `Debug`.
#[test]
fn a_senders_text_acts_on_no_terminal_and_no_reader() {
    let (kept, out) = (Kept::default(), Kept::default());
    let writer = out.clone();
    let lines = Lines(move |line: &[u8]| writer.0.lock().unwrap().extend_from_slice(line));
    let text = "a\u{9b}31m\u{202e}b\u{2066}\u{200b}\u{7f}\u{85}\u{e0041}\n\u{1b}\"\\é漢\u{1f600}";
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
        let span = error_span!("message", trace_header = text, group = ?Some(text), late = Empty);
        span.record("late", text);
        span.in_scope(|| warn!(error = %text, reason = text, "{text}"));
    });
    let written = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    assert_eq!(written.matches('\n').count(), 1, "{written:?}");
    let acting: Vec<char> = written.trim_end().chars().filter(|&c| redrive_sqs::is_invisible(c)).collect();
    assert!(acting.is_empty(), "{acting:?}");
    assert!(written.contains("é漢\u{1f600}"), "{written}");
    *kept.0.lock().unwrap() = written.into_bytes();
    let [line] = &kept.lines()[..] else { panic!("one line") };
    let span = &line["spans"][0];
    for value in [&line["error"], &line["reason"], &line["message"], &span["trace_header"], &span["late"]] {
        assert_eq!(value, text);
    }
}
