//! Properties that hold for any input, for the fuzzers of `dev/fuzz/` and for tests.

use std::path::Path;

use crate::Surroundings;
use crate::deployment::template::{self, Source};
use crate::deployment::terraform;

/// Reads a template twice: both times it is refused, or read with the same result.
///
/// # Panics
/// The results differ.
pub fn template(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let read = || {
        let known = template::read(&Source::new(Path::new("template.yaml"), &text, &[]));
        known.map(|known| format!("{known:?}"))
    };
    assert_eq!(read(), read());
}

/// Reads Terraform's JSON of a plan or a state twice: both times it is refused, or read with the same result.
///
/// # Panics
/// The results differ.
pub fn plan(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let read = || {
        let known = terraform::read(&Source::new(Path::new("plan.json"), &text, &[]));
        known.map(|known| format!("{known:?}"))
    };
    assert_eq!(read(), read());
}

pub(crate) fn surroundings() -> Surroundings {
    Surroundings {
        region: Some("us-east-1".to_owned()),
        account: Some("000000000000".to_owned()),
        stack: Some("local".to_owned()),
        endpoint: "http://127.0.0.1:0".to_owned(),
        ..Surroundings::default()
    }
}

#[cfg(test)]
#[path = "../../../dev/fuzz/corpus.rs"]
mod corpus;

#[cfg(test)]
mod tests {
    use super::corpus::check;

    const TEMPLATES: &str = "crates/cli/tests/doctor/corpus";

    #[test]
    fn the_corpora_of_the_fuzzers_hold() {
        check("template", &[TEMPLATES], super::template);
        check("plan", &[TEMPLATES], super::plan);
    }
}
