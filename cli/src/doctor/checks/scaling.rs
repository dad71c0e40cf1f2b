//! By what workers are scaled.

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::Redrive;

pub(in crate::doctor) const SCALES_ON_IN_FLIGHT: Check = Check {
    code: "scales-on-in-flight",
    level: Level::Warning,
    title: "KEDA starts workers for messages that nobody can receive",
    why: Redrive(
        "A message that waits for its retry is in flight to SQS, as is one in work. KEDA counts both as waiting by \
         default. While many messages back off, it runs as many workers as it may, and they receive nothing.",
    ),
    link: "https://keda.sh/docs/latest/scalers/aws-sqs/",
    fix: Redrive("Set scaleOnInFlight: \"false\" in the trigger's metadata."),
    find: |subject| {
        let counting = subject.scalers.iter().filter(|scaler| scaler.counts_in_flight == Some(true));
        let what =
            |id: &str| format!("The aws-sqs-queue trigger of {id} does not set scaleOnInFlight to false.");
        counting.map(|scaler| Found::at(scaler, what(&scaler.id))).collect()
    },
};
