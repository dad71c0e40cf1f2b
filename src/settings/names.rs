//! The names of the variables, to find misspelled ones.

use super::VARIABLES;

/// The prefix of all variables.
const PREFIX: &str = "REDRIVE_";

/// The variables that settings do not read.
const OTHERS: [&str; 3] = ["REDRIVE_QUEUE_URL", "REDRIVE_QUEUES", "REDRIVE_LOG"];

/// The least similarity of a misspelled name: 1 is the same, 0 has nothing in common.
const NEAR: f64 = 0.75;

/// Returns the names of all variables that this crate reads.
pub fn variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().chain(&OTHERS).copied()
}

/// Returns the variable that a name probably misspells. Other names may be variables of other programs.
pub(crate) fn misspelled(name: &str) -> Option<&'static str> {
    let own = name.strip_prefix(PREFIX)?;
    if variables().any(|known| known == name) {
        return None;
    }
    let nearness = |known: &str| strsim::normalized_damerau_levenshtein(own, &known[PREFIX.len()..]);
    let nearest = variables().map(|known| (nearness(known), known));
    let nearest = nearest.max_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest.filter(|(near, _)| *near >= NEAR).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_is_nearly_a_variable_is_misspelled() {
        for (name, expected) in [
            ("REDRIVE_CONCURENCY", Some("REDRIVE_CONCURRENCY")),
            ("REDRIVE_MAX_RECIEVE_COUNT", Some("REDRIVE_MAX_RECEIVE_COUNT")),
            ("REDRIVE_DEAD_LETTER_QUEUE", Some("REDRIVE_DEAD_LETTER_QUEUE_URL")),
            ("REDRIVE_QUEUE", Some("REDRIVE_QUEUES")),
            ("REDRIVE_CONCURRENCY", None),
            ("REDRIVE_QUEUE_URL", None),
            ("REDRIVE_METRICS", None),
            ("REDRIVE_METRICS_NAMESPACE", None),
            // Those of redrive's other packages, and of a program.
            ("REDRIVE_BATCH", None),
            ("REDRIVE_CLASSIFY", None),
            ("REDRIVE_IDEMPOTENCY_TABLE", None),
            ("REDRIVE_JOURNAL", None),
            ("REDRIVE_COLOR", None),
            ("CONCURENCY", None),
        ] {
            assert_eq!(misspelled(name), expected, "{name}");
        }
    }
}
