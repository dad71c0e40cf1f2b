//! How many batches run at a time, and what happens to the others.

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;
use crate::subject::{Function, MAXIMUM_CONCURRENCY, Mapping, Subject};

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
    title: "The mapping may use more concurrency than the function has",
    why: All(
        "Lambda receives messages for as many batches at a time as MaximumConcurrency allows. It throttles batches \
          beyond the function's reserved concurrency; their messages come back, and each time counts as a delivery: \
          healthy messages become dead letters.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html",
    fix: All(
        "Set ReservedConcurrentExecutions to at least the sum of MaximumConcurrency over the function's mappings.",
    ),
    find: |subject| {
        let found = subject.functions.iter().filter_map(|function| {
            let reserved = function.reserved_concurrency.there()?;
            let maxima =
                mappings_of(subject, function).filter_map(|mapping| mapping.maximum_concurrency.there());
            let sum: u32 = maxima.fold(0, |sum, maximum| sum.saturating_add(*maximum));
            let what = format!(
                "{} has a reserved concurrency of {reserved}, but its mappings may run {sum} batches at a time.",
                function.id
            );
            (*reserved < sum).then(|| Found::at(function, what))
        });
        found.collect()
    },
};

const RESERVED_BELOW_LEAST: &str = "Set ReservedConcurrentExecutions to 2 and ScalingConfig.MaximumConcurrency of the mapping \
                                    to 2, which is its minimum, or remove the reservation.";

pub(in crate::doctor) const RESERVED_WITHOUT_MAXIMUM: Check = Check {
    code: "reserved-without-maximum",
    level: Level::Error,
    title: "Reserved concurrency throttles deliveries",
    why: All(
        "Without MaximumConcurrency the mapping scales with the length of the queue and ignores the function's \
          reserved concurrency. Lambda throttles batches beyond it; their messages come back, and each time counts as \
          a delivery: healthy messages become dead letters.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html",
    fix: All(
        "Set ScalingConfig.MaximumConcurrency of the mapping to at most the reserved concurrency, or remove the \
           reservation.",
    ),
    find: |subject| {
        let mut found = Vec::new();
        for function in &subject.functions {
            let Some(reserved) = function.reserved_concurrency.there() else { continue };
            let unlimited = mappings_of(subject, function)
                .filter(|mapping| mapping.maximum_concurrency.is_absent() && !mapping.provisioned);
            let has = format!("{} has a reserved concurrency of {reserved}", function.id);
            let least = (reserved < MAXIMUM_CONCURRENCY.start()).then_some(RESERVED_BELOW_LEAST);
            found.extend(unlimited.map(|mapping| {
                let what = format!("{has}, but {} has no MaximumConcurrency.", mapping.id);
                Found::at(mapping, what).fixed_by(least)
            }));
        }
        found
    },
};
