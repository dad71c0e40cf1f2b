//! The error inside a failure or a verdict, with its sources and the names of their types.

use std::any::{Any, TypeId, type_name};
use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write};
use std::io;

use super::{BoxError, ForeignError, Judgment, Verdict};
use redrive_executor::catch;

/// The part of an error's `Debug` that is read, in bytes.
const HEAD: usize = 128;

#[derive(Debug)]
pub(crate) struct ErrorChain {
    error: BoxError,
    /// The type of the error, or the wrapper that hides it.
    exception: &'static str,
    is_hidden: bool,
}

impl ErrorChain {
    pub(crate) fn new<E: Into<BoxError> + 'static>(error: E) -> Self {
        let wrappers = [
            (TypeId::of::<anyhow::Error>(), "anyhow::Error"),
            (TypeId::of::<BoxError>(), "Box<dyn Error>"),
            (TypeId::of::<Verdict>(), "redrive::Verdict"),
        ];
        let wrapper = wrappers.into_iter().find(|(id, _)| *id == TypeId::of::<E>());
        let exception = wrapper.map_or(type_name::<E>(), |(_, name)| name);
        Self { error: boxed(error), exception, is_hidden: wrapper.is_some() }
    }

    pub(crate) fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }

    /// Returns the error and its sources, at most 64, because a cycle must not hang a batch.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        std::iter::successors(Some(self.error() as &(dyn Error + 'static)), |&error| error.source()).take(64)
    }

    /// Returns the first error of type `E`. The chain skips the error inside a verdict, so it is checked separately.
    pub(crate) fn find<E: Error + 'static>(&self) -> Option<&E> {
        self.chain().find_map(|error| {
            let within = || error.downcast_ref::<Judgment>()?.chain.error().downcast_ref();
            error.downcast_ref().or_else(within)
        })
    }

    /// Returns the type of the error. If a wrapper hides it, returns the first name that can be found in its chain.
    pub(crate) fn exception(&self) -> Cow<'static, str> {
        if let Some(foreign) = self.error.downcast_ref::<ForeignError>() {
            return Cow::Owned(foreign.type_name().to_owned());
        }
        let inner = self.is_hidden.then(|| self.chain().find_map(name)).flatten();
        inner.unwrap_or(Cow::Borrowed(self.exception))
    }
}

/// Boxes an error such that the error within an `anyhow::Error` keeps its type.
fn boxed<E: Into<BoxError> + 'static>(error: E) -> BoxError {
    let mut error = Some(error);
    let anyhow = (&mut error as &mut dyn Any).downcast_mut().and_then(Option::<anyhow::Error>::take);
    match (anyhow, error) {
        (Some(anyhow), _) => anyhow.reallocate_into_boxed_dyn_error_without_backtrace(),
        (None, error) => error.expect("it is no error of anyhow, so nobody took it").into(),
    }
}

fn name(error: &(dyn Error + 'static)) -> Option<Cow<'static, str>> {
    if let Some(judgment) = error.downcast_ref::<Judgment>() {
        return Some(judgment.chain.exception());
    }
    let common = [
        (error.is::<Verdict>(), None),
        (error.is::<io::Error>(), Some(type_name::<io::Error>())),
        (error.is::<serde_json::Error>(), Some(type_name::<serde_json::Error>())),
    ];
    match common.into_iter().find(|(is_it, _)| *is_it) {
        Some((_, name)) => name.map(Cow::Borrowed),
        None => derived_name(error).map(Cow::Owned),
    }
}

/// Returns the name at the start of a derived `Debug`: the type or the variant. Texts and the contexts of anyhow have none.
fn derived_name(error: &dyn Error) -> Option<String> {
    let mut head = Head(String::new());
    // Writing fails as soon as the head is full, and a `Debug` may unwrap that error.
    let _ = catch(|| write!(head, "{error:?}"));
    let of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let end = head.0.find(|c: char| !of_a_name(c)).unwrap_or(head.0.len());
    let (name, rest) = head.0.split_at(end);
    let is_type = name.rsplit("::").next()?.starts_with(|c: char| c.is_ascii_uppercase());
    let is_derived = rest.is_empty() || rest.starts_with('(') || rest.starts_with(" {");
    (is_type && is_derived && name != "Error" && end < HEAD).then(|| name.to_owned())
}

/// A writer that keeps the beginning of a text.
struct Head(String);

impl Write for Head {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.chars().take(HEAD.saturating_sub(self.0.len())));
        if self.0.len() < HEAD { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[derive(Debug, thiserror::Error)]
    enum Store {
        #[error("the store is down")]
        Down(#[from] anyhow::Error),
        #[error("busy")]
        Busy,
        #[error(transparent)]
        Other(anyhow::Error),
        #[error("refused")]
        Refused(#[source] Verdict),
        #[error("boxed")]
        Boxed(#[source] BoxError),
    }

    #[derive(Debug, thiserror::Error, PartialEq)]
    #[error("{0} is the limit")]
    struct Limit(u32);

    /// An error whose `Debug` assumes that writing never fails.
    struct Trusting;

    impl fmt::Debug for Trusting {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Trusting { rows: ").unwrap();
            (0..HEAD).for_each(|row| write!(f, "{row}, ").unwrap());
            Ok(())
        }
    }

    impl fmt::Display for Trusting {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("no room")
        }
    }

    impl Error for Trusting {}

    fn exception(failure: impl Into<Failure>) -> String {
        failure.into().reduce(None).exception.into_owned()
    }

    fn limit(failure: impl Into<Failure>) -> Option<u32> {
        failure.into().find::<Limit>().map(|limit| limit.0)
    }

    #[test]
    fn an_error_is_found_with_and_without_context_at_every_level() {
        let any = || anyhow::Error::from(Limit(7));
        let contexts =
            [any(), any().context("paying"), any().context("paying").context(8).context("order 9")];
        for error in contexts {
            assert_eq!(limit(error), Some(7));
        }
        assert_eq!(limit(anyhow::Context::context(Err::<(), _>(Limit(7)), "paying").unwrap_err()), Some(7));
        assert_eq!(limit(Store::Down(any())), Some(7));
        assert_eq!(limit(Store::Down(any().context("paying"))), Some(7));
        assert_eq!(limit(Store::Other(any().context("paying"))), Some(7));
        assert_eq!(
            limit(anyhow::Error::from(Store::Down(any().context("paying"))).context("order 9")),
            Some(7)
        );
        assert_eq!(limit(BoxError::from(Limit(7))), Some(7));
        assert_eq!(limit(BoxError::from(Store::Down(any()))), Some(7));
        assert_eq!(limit(BoxError::from(any().context("paying"))), Some(7));
        assert_eq!(limit(anyhow::anyhow!("7 is the limit")), None);
    }

    #[test]
    fn an_error_is_found_inside_a_verdict_wherever_that_is() {
        let any = || anyhow::Error::from(Limit(7));
        assert_eq!(limit(Verdict::reject(Limit(7))), Some(7));
        assert_eq!(limit(Verdict::reject(any())), Some(7));
        assert_eq!(limit(Verdict::reject(any().context("paying"))), Some(7));
        assert_eq!(limit(Store::Refused(Verdict::discard(any()))), Some(7));
        assert_eq!(limit(anyhow::Error::from(Verdict::reject(any())).context("order 9")), Some(7));
        assert_eq!(limit(BoxError::from(Verdict::reject(Verdict::discard(Limit(7))))), Some(7));
    }

    #[test]
    fn each_error_inside_nested_verdicts_is_visited_once() {
        let nested = |error: BoxError| (0..40).fold(Verdict::reject(error), |it, _| Verdict::discard(it));
        assert_eq!(limit(nested("text".into())), None);
        assert_eq!(limit(nested(Limit(7).into())), Some(7));
        assert_eq!(exception(nested(Limit(7).into())), "Limit");
    }

    #[test]
    fn the_exception_is_the_type_of_the_error_whatever_hides_it() {
        let io = || anyhow::Error::from(io::Error::other("disk"));
        let any = || anyhow::Error::from(Limit(7));
        for (failure, name) in [
            (Failure::from(Limit(7)), type_name::<Limit>()),
            (Failure::from(any()), "Limit"),
            (Failure::from(any().context("paying").context("order 9")), "Limit"),
            (Failure::from(io()), "std::io::error::Error"),
            (Failure::from(io().context("paying")), "std::io::error::Error"),
            (Failure::from(anyhow::Error::from(Store::Busy)), "Busy"),
            (Failure::from(anyhow::Error::from(Store::Down(io())).context("paying")), "Down"),
            (Failure::from(Store::Down(io())), type_name::<Store>()),
            (Failure::from(BoxError::from(Limit(7))), "Limit"),
            (Failure::from(BoxError::from(Store::Boxed("text".into()))), "Boxed"),
            (Failure::from(Verdict::reject(Limit(7))), type_name::<Limit>()),
            (Failure::from(Verdict::reject(any().context("paying"))), "Limit"),
            (Failure::from(anyhow::Error::from(Verdict::reject("no")).context("paying")), "&str"),
            (Failure::from(Store::Refused(Verdict::reject("no"))), type_name::<Store>()),
            (Failure::reject(any()), "Limit"),
            (Failure::malformed(any()), "Limit"),
        ] {
            assert_eq!(exception(failure), name);
        }
        let json = serde_json::from_str::<u32>("x").unwrap_err();
        assert_eq!(exception(anyhow::Error::from(json)), "serde_json::error::Error");
        let number = "x".parse::<u32>().unwrap_err();
        assert_eq!(exception(anyhow::Error::from(number)), "ParseIntError");
    }

    #[test]
    fn a_text_error_has_no_type_name() {
        for text in ["disk", "Disk", "Timeout", "Disk full", ""] {
            assert_eq!(exception(anyhow::Error::msg(text)), "anyhow::Error");
            assert_eq!(exception(anyhow::Error::msg(text).context(text)), "anyhow::Error");
            assert_eq!(exception(BoxError::from(text)), "Box<dyn Error>");
        }
        assert_eq!(exception("text"), "&str");
    }

    /// An error with its own `Debug`.
    struct Own(&'static str);

    impl fmt::Debug for Own {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            // Like a very long value. The writer stops it once it is too long for a name.
            self.0.chars().cycle().take(1 << 40).try_for_each(|c| f.write_char(c))
        }
    }

    impl fmt::Display for Own {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Own {}

    #[test]
    fn a_debug_without_end_is_read_no_further_than_a_name_can_be_long() {
        for (debug, name) in [
            ("A", "anyhow::Error"),
            ("card 4111 refused ", "anyhow::Error"),
            ("Card 4111 refused ", "anyhow::Error"),
            ("Refused(4111)", "Refused"),
            ("shop::Refused { card: 4111 }", "shop::Refused"),
        ] {
            assert_eq!(exception(anyhow::Error::from(Own(debug))), name);
        }
    }

    #[test]
    fn a_debug_that_unwraps_write_errors_fails_nothing() {
        assert_eq!(exception(anyhow::Error::from(Trusting)), "Trusting");
    }
}
