use super::*;

fn disposition(failure: impl Into<Failure>) -> Disposition {
    failure.into().reduce(None).disposition
}

#[test]
fn any_error_means_retry() {
    assert_eq!(disposition("text"), Disposition::Retry);
    assert_eq!(disposition(String::from("text")), Disposition::Retry);
    assert_eq!(disposition(std::io::Error::other("disk")), Disposition::Retry);
    assert_eq!(disposition(BoxError::from("boxed")), Disposition::Retry);
    assert_eq!(disposition(anyhow::anyhow!("any")), Disposition::Retry);
}

#[test]
fn a_constructor_overrules_a_verdict_below_it() {
    assert_eq!(disposition(Failure::discard(Verdict::reject("refused"))), Disposition::Discard);
}

#[test]
fn the_decision_of_an_extractor_stays() {
    assert_eq!(Failure::malformed("eof").reduce(None).disposition, Disposition::Malformed);
    assert_eq!(
        Failure::malformed(Verdict::discard("not for us")).reduce(None).disposition,
        Disposition::Discard
    );
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
        assert_eq!(rulings(&failure), std::array::from_fn(|disposition| disposition == at), "{failure:?}");
        assert_eq!((failure.after(), failure.reason()), (expected, None), "{failure:?}");
        assert_eq!(failure.with_reason("code").reason(), Some("code"));
    }
}

#[test]
fn an_outage_names_its_dependency_wherever_it_is_returned() {
    let named = |failure: Failure| failure.reduce(None).dependency.map(Cow::into_owned);
    assert_eq!(named(Failure::outage("503").on_dependency("bank")), Some("bank".to_owned()));
    assert_eq!(named(Failure::outage("503")), None);
    let below = std::io::Error::other(Verdict::outage("503").on_dependency("bank"));
    assert_eq!(Failure::from(below).dependency(), Some("bank"));
    let below = std::io::Error::other(Verdict::outage("503").on_dependency("bank"));
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
    for (failure, is_decided) in [
        (Failure::from("down"), false),
        (Failure::from("down").with_reason("code"), false),
        (Failure::retry("down"), true),
        (Verdict::retry("down").into(), true),
        (std::io::Error::other(Verdict::retry("down")).into(), true),
        (Failure::retry(Verdict::reject("refused")), true),
        (Failure::reject("refused"), true),
    ] {
        assert_eq!(failure.is_decided(), is_decided, "{failure:?}");
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
    assert_eq!(disposition(StoreError::from(refused())), Disposition::Reject);
    assert_eq!(disposition(StoreError::As(refused())), Disposition::Reject);
    assert_eq!(disposition(below(below(refused().into()))), Disposition::Reject);
    assert_eq!(disposition(below(StoreError::As(refused()))), Disposition::Reject);
}

#[test]
fn a_verdict_is_found_on_top_below_and_through_anyhow() {
    let refused = || Verdict::reject("refused").with_reason("card-refused");
    assert_eq!(disposition(refused()), Disposition::Reject);
    assert_eq!(disposition(std::io::Error::other(refused())), Disposition::Reject);
    assert_eq!(disposition(anyhow::Error::from(refused())), Disposition::Reject);
    assert_eq!(
        disposition(anyhow::Error::from(refused()).context("paying").context("order 7")),
        Disposition::Reject
    );
    assert_eq!(
        Failure::from(anyhow::Error::from(refused())).reduce(None).code.as_deref(),
        Some("card-refused")
    );
    assert_eq!(
        disposition(Verdict::defer(Duration::from_secs(9))),
        Disposition::Defer(Duration::from_secs(9))
    );
    assert_eq!(disposition(Verdict::discard("late")), Disposition::Discard);
    assert_eq!(disposition(Verdict::retry("busy")), Disposition::Retry);
    let after = Duration::from_secs(3);
    assert_eq!(disposition(Verdict::retry_after(after, "busy")), Disposition::RetryAfter(after));
}
