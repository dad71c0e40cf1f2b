//! Scalers of workers.

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::Redrive;

pub(in crate::doctor) const SCALES_ON_IN_FLIGHT: Check = Check {
    code: "scales-on-in-flight",
    level: Level::Warning,
    title: "KEDA starts workers for messages that nobody can receive",
    why: Redrive(
        "KEDA starts workers that receive nothing. By default it counts messages in flight as waiting, including \
         those that wait for a retry. While many messages back off, KEDA runs the maximum number of workers.",
    ),
    link: "https://keda.sh/docs/latest/scalers/aws-sqs/",
    fix: Redrive("Set scaleOnInFlight: \"false\" in the metadata of the aws-sqs-queue trigger."),
    find: |deployment| {
        let counting = deployment.scalers.iter().filter(|scaler| scaler.counts_in_flight == Some(true));
        let what =
            |id: &str| format!("The aws-sqs-queue trigger of {id} does not set scaleOnInFlight to false.");
        counting.map(|scaler| Found::at(scaler, what(&scaler.id))).collect()
    },
};
