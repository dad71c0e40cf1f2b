//! The schedules with which a function ends a pause of its event source mapping.

/// The longest part of a function's name in the name of a schedule, which may have 64 characters.
const LONGEST_NAME: usize = 30;

/// The names of the two schedules that end a pause of the mapping between a queue and a function: the one that starts the
/// mapping slowly, and the one that restores it. A process knows them without a call to Lambda.
///
/// ```
/// let queue = "arn:aws:sqs:eu-west-1:123456789012:orders";
/// let function = "arn:aws:lambda:eu-west-1:123456789012:function:charge:live";
/// let [resuming, restoring] = redrive_sqs::pause_schedules(queue, function);
/// assert_eq!(restoring, "redrive-charge-23b26acf49c25fb0");
/// assert_eq!(resuming, "redrive-charge-23b26acf49c25fb0-resume");
/// ```
#[must_use]
pub fn pause_schedules(queue_arn: &str, function_arn: &str) -> [String; 2] {
    let function = function_arn.split(':').nth(6).unwrap_or_default();
    let function: String = function.chars().take(LONGEST_NAME).collect();
    let mapping = [queue_arn, "\0", function_arn].concat();
    let restoring = format!("redrive-{function}-{:016x}", hash(mapping.as_bytes()));
    [format!("{restoring}-resume"), restoring]
}

/// FNV-1a, which is the same in each version of Rust.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mapping_has_its_own_names_that_scheduler_takes() {
        let function = |name: &str| format!("arn:aws:lambda:eu-west-1:123456789012:function:{name}");
        let long = function(&"x".repeat(64));
        let names: std::collections::BTreeSet<_> = ["orders", "letters"]
            .into_iter()
            .flat_map(|queue| {
                [&function("a"), &function("a:live"), &long].map(|it| pause_schedules(queue, it))
            })
            .flatten()
            .collect();
        assert_eq!(names.len(), 12);
        for name in names {
            assert!(name.len() <= 64, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{name}");
        }
    }
}
