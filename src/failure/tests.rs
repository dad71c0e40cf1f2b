use super::*;
use crate::Verdict;

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
fn an_error_is_found_below_whatever_anyhow_makes_of_it() {
    let io = || anyhow::Error::from(std::io::Error::other("disk"));
    let found = |failure: Failure| failure.find::<std::io::Error>().map(ToString::to_string);
    for error in [io(), io().context("reading"), io().context("reading").context("order 7")] {
        assert_eq!(found(Failure::from(error)).as_deref(), Some("disk"));
    }
    assert_eq!(found(Failure::reject(io())).as_deref(), Some("disk"));
    assert_eq!(found(Failure::from(anyhow::anyhow!("disk"))), None);
    assert_eq!(Failure::from(io().context("reading")).to_string(), "reading: disk");
    assert_eq!(Failure::from(io()).reduce(None).exception, "anyhow::Error");
}

#[test]
fn a_constructor_overrules_a_verdict_below_it() {
    assert_eq!(ruling(Failure::discard(Verdict::reject("refused"))), Ruling::Discard);
}

#[test]
fn the_exception_is_the_type_that_failed() {
    assert_eq!(Failure::from(std::fmt::Error).reduce(None).exception, "core::fmt::Error");
    assert_eq!(Failure::reject(std::fmt::Error).reduce(None).exception, "core::fmt::Error");
}

#[test]
fn an_extractor_that_rules_for_itself_is_obeyed() {
    assert_eq!(Failure::malformed("eof").reduce(None).ruling, Ruling::Malformed);
    assert_eq!(Failure::malformed(Verdict::discard("not for us")).reduce(None).ruling, Ruling::Discard);
}
