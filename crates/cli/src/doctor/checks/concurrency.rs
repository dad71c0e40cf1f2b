//! Limits of concurrency, and deliveries that Lambda throttles beyond them.

use redrive_iac::deployment::{
    Deployment, Function, MAXIMUM_CONCURRENCY, MAXIMUM_POLLERS, MINIMUM_POLLERS, Mapping, Pollers,
};

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

/// Returns the mappings that invoke a function.
fn mappings_of<'a>(deployment: &'a Deployment, function: &'a Function) -> impl Iterator<Item = &'a Mapping> {
    let is_meant = |mapping: &&Mapping| {
        mapping.enabled != Some(false) && mapping.function.as_deref() == Some(&function.name)
    };
    deployment.mappings.iter().filter(is_meant)
}

pub(in crate::doctor) const RESERVED_BELOW_MAXIMUM: Check = Check {
    code: "reserved-below-maximum",
    level: Level::Error,
    title: "The mapping can use more concurrency than the function has",
    why: All(
        "Lambda receives messages for as many batches at a time as MaximumConcurrency allows. It throttles batches \
         beyond the function's reserved concurrency. Their messages become visible again, and every receive counts, \
         so healthy messages become dead letters.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html",
    fix: All(
        "Set ReservedConcurrentExecutions to at least the sum of MaximumConcurrency over the function's \
          mappings; with provisioned pollers, of 10 times MaximumPollers.",
    ),
    find: |deployment| {
        let found = deployment.functions.iter().filter_map(|function| {
            let reserved = function.reserved_concurrency.there()?;
            let maxima = mappings_of(deployment, function).filter_map(Mapping::most_batches);
            let sum: u32 = maxima.fold(0, u32::saturating_add);
            let what = format!(
                "{} has a reserved concurrency of {reserved}, but its mappings can run {sum} batches at a \
                 time.",
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
        reserved concurrency. Lambda throttles batches beyond it. Their messages become visible again, and every \
        receive counts, so healthy messages become dead letters.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html",
    fix: All(
        "Set ScalingConfig.MaximumConcurrency of the mapping to at most the reserved concurrency, or remove the \
           reservation.",
    ),
    find: |deployment| {
        let mut found = Vec::new();
        for function in &deployment.functions {
            let Some(reserved) = function.reserved_concurrency.there() else { continue };
            let unlimited = mappings_of(deployment, function)
                .filter(|mapping| mapping.maximum_concurrency.is_absent() && mapping.pollers.is_absent());
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

pub(in crate::doctor) const MAXIMUM_CONCURRENCY_REFUSED: Check = Check {
    code: "maximum-concurrency-refused",
    level: Level::Error,
    title: "Lambda rejects the maximum concurrency",
    why: All(
        "Lambda accepts a MaximumConcurrency of 2 to 1000. It rejects any other value, and the deployment \
         fails.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html",
    fix: All(
        "Set ScalingConfig.MaximumConcurrency to 2 or more. To run one batch at a time, use a FIFO queue \
         whose messages share one group id.",
    ),
    find: |deployment| {
        let refused = deployment.mappings.iter().filter_map(|mapping| {
            let maximum =
                mapping.maximum_concurrency.there().filter(|it| !MAXIMUM_CONCURRENCY.contains(it))?;
            Some(Found::at(mapping, format!("MaximumConcurrency of {} is {maximum}.", mapping.id)))
        });
        refused.collect()
    },
};

pub(in crate::doctor) const POLLERS_REFUSED: Check = Check {
    code: "pollers-refused",
    level: Level::Error,
    title: "Lambda rejects the provisioned pollers",
    why: All(
        "MinimumPollers must be 2 to 200, and MaximumPollers 2 to 10000. Provisioned pollers cannot be combined with \
         MaximumConcurrency. Lambda rejects anything else, and the deployment fails.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/api/API_ProvisionedPollerConfig.html",
    fix: All(
        "Set MinimumPollers to 2 to 200, and MaximumPollers to at least that. Each poller runs up to 10 \
         batches at a time, so use MaximumPollers instead of MaximumConcurrency to limit concurrency.",
    ),
    find: |deployment| {
        let refused = deployment.mappings.iter().filter_map(|mapping| {
            let pollers = mapping.pollers.there()?;
            let reason = match mapping.maximum_concurrency.there() {
                Some(maximum) => {
                    format!("both a MaximumConcurrency of {maximum} and a ProvisionedPollerConfig")
                }
                None => refused(pollers)?,
            };
            Some(Found::at(mapping, format!("{} has {reason}.", mapping.id)))
        });
        refused.collect()
    },
};

fn refused(Pollers { minimum, maximum }: &Pollers) -> Option<String> {
    let outside =
        [("MinimumPollers", minimum, MINIMUM_POLLERS), ("MaximumPollers", maximum, MAXIMUM_POLLERS)]
            .into_iter()
            .find_map(|(name, number, allowed)| {
                number.filter(|number| !allowed.contains(number)).map(|number| format!("{name} of {number}"))
            });
    outside.or_else(|| {
        let (minimum, maximum) = minimum.zip(*maximum).filter(|(minimum, maximum)| minimum > maximum)?;
        Some(format!("MinimumPollers of {minimum}, but MaximumPollers of {maximum}"))
    })
}

pub(in crate::doctor) const MANAGED_INSTANCES_THROTTLE: Check = Check {
    code: "managed-instances-throttle",
    level: Level::Warning,
    title: "Managed Instances throttle deliveries while they scale",
    why: All(
        "Lambda Managed Instances scale by CPU utilization, and throttle if traffic more than doubles within 5 \
         minutes. Without MaximumConcurrency the mapping scales with the length of the queue. Messages of throttled \
         batches become visible again, and every receive counts, so healthy messages become dead letters.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/lambda-managed-instances-troubleshooting.html",
    fix: All("Set ScalingConfig.MaximumConcurrency of the mapping to the function's smallest capacity: the \
         minimum number of execution environments times PerExecutionEnvironmentMaxConcurrency."),
    find: |deployment| {
        let mut found = Vec::new();
        for function in deployment.functions.iter().filter(|function| function.has_capacity_provider) {
            let unlimited = mappings_of(deployment, function)
                .filter(|mapping| mapping.maximum_concurrency.is_absent() && mapping.pollers.is_absent());
            found.extend(unlimited.map(|mapping| {
                let (id, function) = (&mapping.id, &function.id);
                Found::at(
                    mapping,
                    format!("{function} runs on Managed Instances, but {id} has no MaximumConcurrency."),
                )
            }));
        }
        found
    },
};
