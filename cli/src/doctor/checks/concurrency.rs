//! How many batches run at a time, and what happens to the others.

use crate::doctor::finding::{Check, Found, Level};
use crate::subject::{Function, Mapping, Subject};

/// Those that invoke it.
fn mappings_of<'a>(subject: &'a Subject, function: &'a Function) -> impl Iterator<Item = &'a Mapping> {
    let is_meant = |mapping: &&Mapping| {
        mapping.enabled != Some(false) && mapping.function.as_deref() == Some(&function.name)
    };
    subject.mappings.iter().filter(is_meant)
}

pub(in crate::doctor) const RESERVED_BELOW_MAXIMUM: Check = Check {
    code: "reserved-below-maximum",
    level: Level::Error,
    title: "The mapping asks for more concurrency than the function has",
    why: "Lambda receives messages for as many batches as the mapping's MaximumConcurrency says. Batches beyond the \
          function's reserved concurrency are throttled, their messages come back, and each time counts as a delivery: \
          healthy messages end as dead letters.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html",
    mend: "Set ReservedConcurrentExecutions to at least the sum of MaximumConcurrency over the function's mappings.",
    find: |subject| {
        let mut found = Vec::new();
        for function in &subject.functions {
            let Some(reserved) = function.reserved_concurrency.there() else { continue };
            let maxima =
                mappings_of(subject, function).filter_map(|mapping| mapping.maximum_concurrency.there());
            let sum: u32 = maxima.fold(0, |sum, maximum| sum.saturating_add(*maximum));
            if *reserved < sum {
                let what = format!(
                    "{} has a reserved concurrency of {reserved}, but its mappings may ask for {sum} batches at a time.",
                    function.id
                );
                found.push(Found::at_function(function, what));
            }
        }
        found
    },
};

pub(in crate::doctor) const RESERVED_WITHOUT_MAXIMUM: Check = Check {
    code: "reserved-without-maximum",
    level: Level::Error,
    title: "Reserved concurrency throttles deliveries",
    why: "Without a MaximumConcurrency the mapping scales by the length of the queue and knows nothing of the function's \
          reserved concurrency. What it receives beyond that is throttled, comes back, and counts as a delivery each \
          time: healthy messages end as dead letters.",
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html",
    mend: "Set ScalingConfig.MaximumConcurrency on the mapping, at most the reserved concurrency, or reserve nothing.",
    find: |subject| {
        let mut found = Vec::new();
        for function in &subject.functions {
            let Some(reserved) = function.reserved_concurrency.there() else { continue };
            let unlimited = mappings_of(subject, function)
                .filter(|mapping| mapping.maximum_concurrency.is_absent() && !mapping.provisioned);
            found.extend(unlimited.map(|mapping| {
                let what = format!(
                    "{} has a reserved concurrency of {reserved}, and {} has no MaximumConcurrency.",
                    function.id, mapping.id
                );
                Found::at_mapping(mapping, what)
            }));
        }
        found
    },
};
