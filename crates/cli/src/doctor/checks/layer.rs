//! Functions that are set up for redrive's Lambda layer and run without it.

use redrive_iac::deployment::{Function, Seen};

use crate::doctor::feed::feeds;
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::All;

pub(in crate::doctor) const LAYER_NEVER_RUNS: Check = Check {
    code: "layer-never-runs",
    level: Level::Error,
    title: "redrive's layer never runs",
    why: All(
        "Lambda starts the function without redrive, which logs nothing. The function gets whole batches, without retries \
         with backoff, deadlines and dead letters with a note. It does not report which messages failed, so one that fails \
         takes the others with it, or is deleted with them.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/runtimes-modify.html#runtime-wrapper",
    fix: All(
        "Add the layer, and set AWS_LAMBDA_EXEC_WRAPPER to /opt/redrive. On provided.al2023 and in an image with its own entry \
         point, leave the variable out and start the program with /opt/redrive before it. If your own wrapper calls \
         /opt/redrive, accept this finding.",
    ),
    find: |deployment| {
        let bypassed = feeds(deployment).filter_map(|feed| {
            let why = bypass(feed.function)?;
            Some(Found::at(feed.function, format!("{} runs without redrive: {why}.", feed.function.id)))
        });
        bypassed.collect()
    },
};

/// Returns why Lambda does not run the layer, if the function is set up for it.
fn bypass(function: &Function) -> Option<String> {
    let runtime = function.runtime.as_deref();
    let is_compiled = runtime.is_some_and(|runtime| runtime.starts_with("provided"));
    if function.process.is_behind_layer() {
        let entry = function.entry_point.as_deref().filter(|entry| !calls_wrapper(entry));
        return match (entry, runtime) {
            (Some(entry), _) => {
                Some(format!("the EntryPoint {entry} of its image does not call AWS_LAMBDA_EXEC_WRAPPER"))
            }
            (None, Some(runtime)) if is_compiled => {
                Some(format!("Lambda does not call AWS_LAMBDA_EXEC_WRAPPER on {runtime}"))
            }
            (None, Some(_)) if function.has_layers == Some(false) => {
                Some("it has no layer, so /opt/redrive does not exist".to_owned())
            }
            (None, Some(_) | None) => None,
        };
    }
    // A compiled program may contain redrive.
    let mut variables = function.process.environment.iter().flat_map(|variables| variables.keys());
    let is_set_up = variables.any(|name| redrive::tools::variables().any(|known| known == name));
    let is_meant = runtime.is_some() && !is_compiled && is_set_up;
    match function.process.variable("AWS_LAMBDA_EXEC_WRAPPER") {
        Seen::There(other) if is_meant => Some(format!("its AWS_LAMBDA_EXEC_WRAPPER is {other}")),
        Seen::Absent if is_meant => Some("it has no AWS_LAMBDA_EXEC_WRAPPER".to_owned()),
        Seen::There(_) | Seen::Absent | Seen::Unknown => None,
    }
}

/// Returns true for the entry point of AWS's base images and for redrive's own.
fn calls_wrapper(entry: &str) -> bool {
    ["lambda-entrypoint.sh", "/opt/redrive"].iter().any(|own| entry.contains(own))
}
