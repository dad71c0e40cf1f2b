//! The scenarios that targets run.

use std::time::Duration;

use redrive_bench::event::Batch;

use crate::run::Load;
use crate::target::{HandlerWork, Target};

/// The share of a CPU that a function of 512 MB has.
pub(crate) const THROTTLED: f64 = 0.29;

/// Work that targets do.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) work: HandlerWork,
    pub(crate) load: Load,
    /// Runs in each round.
    pub(crate) times: usize,
    pub(crate) targets: &'static [Target],
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    let batch = |messages, body, fail_every| Batch { messages, body, fail_every };
    let load = |batch, invocations, warm_up| Load {
        batch,
        invocations,
        warm_up,
        aws_takes: Duration::ZERO,
        https: false,
        cpus: None,
    };
    let of = |targets, name, load, times| Scenario { name, work: HandlerWork::Orders, load, times, targets };
    let all = |name, load| of(&Target::ALL, name, load, 1);
    let redrive = |name, load, times| of(&[Target::Redrive], name, load, times);
    let by_hand = |name, load| of(&[Target::Baseline, Target::Redrive], name, load, 1);

    let once = |fail_every| load(batch(10, 1024, fail_every), 1, 0);
    let waiting =
        |fail_every| Load { aws_takes: Duration::from_millis(5), ..load(batch(100, 200, fail_every), 30, 5) };
    vec![
        Scenario { times: 3, ..all("cold", once(0)) },
        all("small", load(batch(10, 1024, 0), 400, 50)),
        all("throttled", Load { cpus: Some(THROTTLED), ..load(batch(10, 1024, 0), 800, 50) }),
        Scenario { work: HandlerWork::Asking, ..by_hand("asking", load(batch(10, 1024, 0), 200, 20)) },
        redrive("https-succeeding", Load { https: true, ..once(0) }, 3),
        redrive("https-failing", Load { https: true, ..once(10) }, 3),
        redrive("waiting-succeeding", waiting(0), 1),
        redrive("waiting-failing", waiting(1), 1),
        all("batch-10", load(batch(10, 200, 0), 200, 5)),
        all("batch-5500", load(batch(5500, 200, 0), 25, 5)),
    ]
}

impl Scenario {
    /// Returns true if the word is the scenario's name, or the first word of it.
    fn is_called(&self, word: &str) -> bool {
        self.name == word || self.name.split_once('-').is_some_and(|(first, _)| first == word)
    }
}

/// Returns the scenarios that the words name, or all if there are no words.
pub(crate) fn called(words: &[String]) -> Vec<Scenario> {
    let mut scenarios = scenarios();
    scenarios.retain(|it| words.is_empty() || words.iter().any(|word| it.is_called(word)));
    scenarios
}

/// Checks a word that names scenarios.
pub(crate) fn word(text: &str) -> Result<String, String> {
    if scenarios().iter().any(|it| it.is_called(text)) {
        return Ok(text.to_owned());
    }
    Err(format!("the scenarios are {}", names()))
}

pub(crate) fn names() -> String {
    scenarios().into_iter().map(|it| it.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &[&str]) {
        let words: Vec<_> = words.iter().map(|text| word(text).unwrap()).collect();
        let names: Vec<_> = called(&words).into_iter().map(|it| it.name).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn scenarios_are_called_by_name_or_by_its_first_word() {
        check(&["batch-10", "small"], &["small", "batch-10"]);
        check(&["waiting", "waiting-failing"], &["waiting-succeeding", "waiting-failing"]);
        assert_eq!(called(&[]).len(), scenarios().len());
    }

    #[test]
    fn a_word_that_names_nothing_is_refused_with_what_does() {
        let error = word("batch-1").unwrap_err();
        assert!(error.starts_with("the scenarios are cold, small, throttled, asking, "), "{error}");
    }
}
