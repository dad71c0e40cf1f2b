use super::*;

fn ruling(failure: impl Into<Failure>) -> Ruling {
    failure.into().reduce(None).ruling
}

#[test]
fn any_error_means_retry() {
    assert_eq!(ruling("text"), Ruling::Retry);
    assert_eq!(ruling(String::from("text")), Ruling::Retry);
    assert_eq!(ruling(std::io::Error::other("disk")), Ruling::Retry);
    assert_eq!(ruling(BoxError::from("boxed")), Ruling::Retry);
    assert_eq!(ruling(anyhow::anyhow!("any")), Ruling::Retry);
}

#[test]
fn a_constructor_overrules_a_verdict_below_it() {
    assert_eq!(ruling(Failure::discard(Verdict::reject("refused"))), Ruling::Discard);
}

#[test]
fn the_decision_of_an_extractor_stays() {
    assert_eq!(Failure::malformed("eof").reduce(None).ruling, Ruling::Malformed);
    assert_eq!(Failure::malformed(Verdict::discard("not for us")).reduce(None).ruling, Ruling::Discard);
}

#[test]
fn a_failure_reports_its_decision() {
    let rulings = |failure: &Failure| {
        [
            failure.is_retry(),
            failure.is_rejection(),
            failure.is_discard(),
            failure.is_deferral(),
            failure.is_malformed(),
            failure.is_outage(),
        ]
    };
    let after = Duration::from_secs(9);
    for (failure, at, expected) in [
        (Failure::from("down"), 0, None),
        (Failure::retry("busy"), 0, None),
        (Failure::retry_after(after, "busy"), 0, Some(after)),
        (Failure::reject("refused"), 1, None),
        (Failure::discard("late"), 2, None),
        (Failure::defer(after), 3, Some(after)),
        (Failure::malformed("eof"), 4, None),
        (Failure::outage("503"), 5, None),
        (Verdict::outage("503").into(), 5, None),
        (Verdict::retry("busy").into(), 0, None),
        (Verdict::retry_after(after, "busy").into(), 0, Some(after)),
        (Verdict::reject("refused").into(), 1, None),
        (Verdict::discard("late").into(), 2, None),
        (Verdict::defer(after).into(), 3, Some(after)),
    ] {
        assert_eq!(rulings(&failure), std::array::from_fn(|ruling| ruling == at), "{failure:?}");
        assert_eq!((failure.after(), failure.reason()), (expected, None), "{failure:?}");
        assert_eq!(failure.with_reason("code").reason(), Some("code"));
    }
}

#[test]
fn an_outage_names_its_dependency_wherever_it_is_returned() {
    let named = |failure: Failure| failure.reduce(None).dependency.map(Cow::into_owned);
    assert_eq!(named(Failure::outage("503").of("bank")), Some("bank".to_owned()));
    assert_eq!(named(Failure::outage("503")), None);
    let below = std::io::Error::other(Verdict::outage("503").of("bank"));
    assert_eq!(Failure::from(below).dependency(), Some("bank"));
    let below = std::io::Error::other(Verdict::outage("503").of("bank"));
    assert_eq!(named(below.into()), Some("bank".to_owned()));
}

#[test]
fn a_failure_keeps_its_error() {
    let error = |failure: Failure| failure.error().map(ToString::to_string);
    assert_eq!(error(Failure::reject("refused")).as_deref(), Some("refused"));
    assert_eq!(error(anyhow::anyhow!("disk").context("reading").into()).as_deref(), Some("reading"));
    assert_eq!(error(Failure::defer(Duration::ZERO)), None);
    assert_eq!(Failure::from(anyhow::anyhow!("disk").context("reading")).to_string(), "reading: disk");
    assert_eq!(Failure::from(Verdict::reject("gone")).to_string(), "rejected: gone");
}

#[test]
fn only_constructors_and_verdicts_decide() {
    for (failure, is_ruled) in [
        (Failure::from("down"), false),
        (Failure::from("down").with_reason("code"), false),
        (Failure::retry("down"), true),
        (Verdict::retry("down").into(), true),
        (std::io::Error::other(Verdict::retry("down")).into(), true),
        (Failure::retry(Verdict::reject("refused")), true),
        (Failure::reject("refused"), true),
    ] {
        assert_eq!(failure.is_ruled(), is_ruled, "{failure:?}");
    }
    assert!(Failure::malformed(Failure::retry("down")).is_retry());
    assert!(Failure::retry(Verdict::reject("refused")).is_retry());
}

#[test]
fn the_error_of_a_failure_can_be_held_while_its_task_changes_threads() {
    fn sent(error: impl Error + Send + Sync) -> String {
        error.to_string()
    }
    assert_eq!(Failure::from("down").error().map(sent).as_deref(), Some("down"));
}

#[derive(Debug, thiserror::Error)]
enum StoreError {
    #[error("not stored")]
    Refused(#[from] Verdict),
    #[error(transparent)]
    As(Verdict),
    #[error("not stored in {table}")]
    In { table: &'static str, source: Box<Self> },
}

#[test]
fn a_verdict_is_found_through_the_enums_of_thiserror() {
    let refused = || Verdict::reject("refused");
    let below = |error| StoreError::In { table: "orders", source: Box::new(error) };
    assert_eq!(ruling(StoreError::from(refused())), Ruling::Reject);
    assert_eq!(ruling(StoreError::As(refused())), Ruling::Reject);
    assert_eq!(ruling(below(below(refused().into()))), Ruling::Reject);
    assert_eq!(ruling(below(StoreError::As(refused()))), Ruling::Reject);
}

#[test]
fn a_verdict_is_found_on_top_below_and_through_anyhow() {
    let refused = || Verdict::reject("refused").with_reason("card-refused");
    assert_eq!(ruling(refused()), Ruling::Reject);
    assert_eq!(ruling(std::io::Error::other(refused())), Ruling::Reject);
    assert_eq!(ruling(anyhow::Error::from(refused())), Ruling::Reject);
    assert_eq!(ruling(anyhow::Error::from(refused()).context("paying").context("order 7")), Ruling::Reject);
    assert_eq!(
        Failure::from(anyhow::Error::from(refused())).reduce(None).code.as_deref(),
        Some("card-refused")
    );
    assert_eq!(ruling(Verdict::defer(Duration::from_secs(9))), Ruling::Defer(Duration::from_secs(9)));
    assert_eq!(ruling(Verdict::discard("late")), Ruling::Discard);
    assert_eq!(ruling(Verdict::retry("busy")), Ruling::Retry);
    let after = Duration::from_secs(3);
    assert_eq!(ruling(Verdict::retry_after(after, "busy")), Ruling::RetryAfter(after));
}
