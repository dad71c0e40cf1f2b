//! Links to the traces in which messages were sent.

use std::str::FromStr;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Link, SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use redrive::{Attribute, Record};

use crate::conventions::MESSAGE_ID;

/// W3C's limits of a trace state.
const ENTRIES: usize = 32;
const CHARACTERS: usize = 512;
const LONG_ENTRY: usize = 128;

/// Returns a link for each trace in which one of the records was sent. A link names its message if there are several.
pub(crate) fn links(records: &[&Record<'_>]) -> Vec<Link> {
    let named = |record: &Record<'_>| match records.len() {
        1 => Vec::new(),
        _ => vec![KeyValue::new(MESSAGE_ID, record.id().to_owned())],
    };
    let linked = |record: &&Record<'_>| {
        let attributes = named(record);
        contexts(record).into_iter().map(move |context| Link::new(context, attributes.clone(), 0))
    };
    records.iter().flat_map(linked).collect()
}

/// Returns the sender's spans: at most two, if the message attributes name a different span than SQS does.
fn contexts(record: &Record<'_>) -> Vec<SpanContext> {
    let attributes = record.attributes();
    let text = |name| attributes.get(name).and_then(Attribute::as_str);
    let w3c = text("traceparent").and_then(|parent| of_w3c(parent, text("tracestate")));
    let xray = record.trace_header().and_then(of_xray);
    let is_new = |xray: &SpanContext| w3c.as_ref().is_none_or(|w3c| w3c.span_id() != xray.span_id());
    let xray = xray.filter(is_new);
    xray.into_iter().chain(w3c).collect()
}

/// Reads a header of X-Ray, such as `Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=1`.
///
/// <https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader>
fn of_xray(header: &str) -> Option<SpanContext> {
    let part = |name: &str| {
        let parts = header.split(';').filter_map(|part| part.trim().split_once('='));
        parts.filter(|(found, _)| *found == name).map(|(_, value)| value).next_back()
    };
    let (time, unique) = part("Root")?.strip_prefix("1-")?.split_once('-')?;
    let trace_id = hexadecimal(time, 8)?.to_owned() + hexadecimal(unique, 24)?;
    let is_sampled = part("Sampled") == Some("1");
    context(&trace_id, part("Parent")?, is_sampled, TraceState::default())
}

/// Reads `traceparent`, such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`, and `tracestate`.
///
/// <https://www.w3.org/TR/trace-context/#traceparent-header>
fn of_w3c(parent: &str, state: Option<&str>) -> Option<SpanContext> {
    let mut parts = parent.trim().split('-');
    let version = hexadecimal(parts.next()?, 2).filter(|version| *version != "ff")?;
    let (trace_id, span_id) = (parts.next()?, parts.next()?);
    let flags = u8::from_str_radix(hexadecimal(parts.next()?, 2)?, 16).ok()?;
    if version == "00" && parts.next().is_some() {
        return None;
    }
    context(trace_id, span_id, flags & 1 == 1, state.map(state_of).unwrap_or_default())
}

/// Reads a trace state, and keeps whole entries, 512 characters together. From a longer state, it first removes entries of more
/// than 128 characters, then the last ones. It keeps nothing of a malformed state.
///
/// <https://www.w3.org/TR/trace-context-2/#tracestate-limits>
fn state_of(text: &str) -> TraceState {
    let entries =
        text.split(',').map(|entry| entry.trim_matches([' ', '\t'])).filter(|entry| !entry.is_empty());
    let mut entries: Vec<_> = entries.take(ENTRIES).collect();
    while entries.iter().map(|entry| entry.len() + 1).sum::<usize>() > CHARACTERS + 1 {
        let long = entries.iter().rposition(|entry| entry.len() > LONG_ENTRY);
        entries.remove(long.unwrap_or(entries.len() - 1));
    }
    TraceState::from_str(&entries.join(",")).unwrap_or_default()
}

fn context(trace_id: &str, span_id: &str, is_sampled: bool, state: TraceState) -> Option<SpanContext> {
    let trace_id = TraceId::from_hex(hexadecimal(trace_id, 32)?).ok()?;
    let span_id = SpanId::from_hex(hexadecimal(span_id, 16)?).ok()?;
    let flags = if is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    Some(SpanContext::new(trace_id, span_id, flags, true, state)).filter(SpanContext::is_valid)
}

/// Returns the text if it has this number of digits, in lower case.
fn hexadecimal(text: &str, digits: usize) -> Option<&str> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(is_digit)).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use opentelemetry::propagation::TextMapPropagator;
    use opentelemetry::trace::TraceContextExt;
    use opentelemetry_aws::trace::xray_propagator::span_context_from_str;
    use opentelemetry_sdk::propagation::TraceContextPropagator;

    use super::*;

    /// Trace, span, whether it is sampled, and the state.
    type Parts = (String, String, bool, String);

    fn parts(context: &SpanContext) -> Parts {
        let state = context.trace_state().header();
        (context.trace_id().to_string(), context.span_id().to_string(), context.is_sampled(), state)
    }

    #[test]
    fn headers_of_xray_are_read_as_by_the_propagator_of_opentelemetry() {
        let table = [
            ("Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=1", true),
            ("Sampled=0;Parent=463ac35c9f6413ad;Root=1-67891233-abcdef012345678912345678", true),
            ("Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad", true),
            ("Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=?", true),
            ("Root=1-67891233-abcdef012345678912345678;Sampled=1", false),
            ("Root=1-67891233-abcdef012345678912345678;Parent=0000000000000000;Sampled=1", false),
            ("Root=2-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad", false),
            ("Root=1-67891233;Parent=463ac35c9f6413ad", false),
            ("Parent=463ac35c9f6413ad", false),
            ("Root=1-é7891233-abcdef012345678912345678;Parent=463ac35c9f6413ad", false),
            ("", false),
        ];
        for (header, is_valid) in table {
            let ours = of_xray(header);
            assert_eq!(ours.is_some(), is_valid, "{header}");
            if let Some(ours) = ours {
                assert_eq!(parts(&ours), parts(&span_context_from_str(header).unwrap()), "{header}");
            }
        }
        let with_lineage = "Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Lineage=a:1|b:2";
        assert!(of_xray(with_lineage).is_some());
    }

    #[test]
    fn a_long_state_loses_its_long_entries_first() {
        let entry = |name: &str, length: usize| format!("{name}={}", "x".repeat(length - name.len() - 1));
        let (a, b, c, d) = (entry("a", 100), entry("b", 100), entry("c", 100), entry("d", 100));
        let (long, longer) = (entry("long", 129), entry("longer", 140));
        let huge = entry("huge", 600);
        let short =
            |count: usize| (0..count).map(|number| format!("k{number}=v")).collect::<Vec<_>>().join(",");
        let table = [
            // 403 and 512 characters fit.
            (format!("{a},{b},{c},{d}"), format!("{a},{b},{c},{d}")),
            (format!("{a},{b},{c},{d},{}", entry("e", 108)), format!("{a},{b},{c},{d},{}", entry("e", 108))),
            (format!("{a},{b},{c},{d},{}", entry("e", 109)), format!("{a},{b},{c},{d}")),
            (format!("{long},{a},{b},{c},{d}"), format!("{a},{b},{c},{d}")),
            // It removes the last of the long ones, and no more than needed.
            (format!("{long},{a},{b},{longer},{c}"), format!("{long},{a},{b},{c}")),
            (huge.clone(), String::new()),
            (format!("{huge},a=1"), "a=1".to_owned()),
            (format!("a=1 , {huge} ,\tb=2,,"), "a=1,b=2".to_owned()),
            (short(40), short(32)),
            (format!("{a},what,{huge}"), String::new()),
            ("x".repeat(1 << 20), String::new()),
            (",".repeat(1 << 20), String::new()),
            ("é".repeat(1 << 10), String::new()),
        ];
        for (state, kept) in table {
            let found = state_of(&state).header();
            assert_eq!(found, kept, "{state:.80}");
            assert!(found.len() <= CHARACTERS);
        }
    }

    #[test]
    fn w3c_attributes_are_read_as_by_the_propagator_of_opentelemetry() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let table = [
            (format!("00-{trace}-{span}-01"), Some("congo=t61rcWkgMzE,rojo=00f067"), true),
            (format!("00-{trace}-{span}-00"), None, true),
            (format!("00-{trace}-{span}-03"), Some("no state"), true),
            (format!("cc-{trace}-{span}-01"), None, true),
            (format!("00-{trace}-{span}-01-what"), None, false),
            (format!("ff-{trace}-{span}-01"), None, false),
            (format!("00-{}-{span}-01", trace.to_uppercase()), None, false),
            (format!("00-{}-{span}-01", "0".repeat(32)), None, false),
            (format!("00-{trace}-{}-01", "0".repeat(16)), None, false),
            (format!("00-{trace}-{span}"), None, false),
            (format!("00-{trace}-{span}-+1"), None, false),
            (String::new(), None, false),
        ];
        for (parent, state, is_valid) in table {
            let mut carrier = HashMap::from([("traceparent".to_owned(), parent.clone())]);
            carrier.extend(state.map(|state| ("tracestate".to_owned(), state.to_owned())));
            let theirs = TraceContextPropagator::new().extract(&carrier);
            let ours = of_w3c(&parent, state);
            assert_eq!(ours.is_some(), is_valid, "{parent}");
            if let Some(ours) = ours {
                assert_eq!(parts(&ours), parts(theirs.span().span_context()), "{parent}");
            }
        }
    }
}
