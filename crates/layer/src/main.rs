//! redrive as a Lambda layer: `AWS_LAMBDA_EXEC_WRAPPER=/opt/redrive` stands between Lambda's Runtime API and the runtime of
//! any language.
//!
//! Lambda calls it with the command of the runtime. It starts the runtime, hands it the messages of a batch as events, and turns
//! its answers into one to Lambda.

// `lambda` is the client of the Runtime API, `exchange` the API that one `process` of the runtime sees, and `handler` hands
// messages over. `classify`, `event`, `response` and `settings` are pure.

#![allow(clippy::disallowed_methods, reason = "it is a shell: it reads the clock and the environment")]

mod settings;
mod classify;
mod event;
mod response;
mod lambda;
mod exchange;
mod process;
mod handler;

use std::process::ExitCode;
use std::time::Duration;

use redrive::reexports::lambda_runtime::{Config, Context, Diagnostic, LambdaEvent};
use redrive::reexports::serde_json;
use redrive::tools::outlives_handlers;
use redrive::{Bulk, Chunks, Consumer};
use serde_json::value::RawValue;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use event::Records;
use exchange::Offer;
use handler::{Delivery, Function};
use lambda::{Invocation, Lambda, REQUEST_ID};
use process::{NoAnswer, NotReady, Program};
use settings::Settings;

/// Time that the runtime has after SIGTERM. Lambda waits for 2 s at most.
const GRACE: Duration = Duration::from_secs(2);

/// Time without a request for a first event after which redrive warns. Lambda waits for 10 s before it starts the runtime again.
/// <https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html>
const FIRST_REQUEST: Duration = Duration::from_secs(10);

/// The reason why the process ends.
#[derive(Debug)]
enum ExitReason {
    /// The runtime ended with this code, as it would have without the layer.
    Code(u8),
    /// A setting is wrong.
    Usage(String),
    Failed(String),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let (code, why) = match run().await {
        ExitReason::Code(code) => (code, None),
        ExitReason::Usage(why) => (2, Some(why)),
        ExitReason::Failed(why) => (1, Some(why)),
    };
    why.iter().for_each(|why| eprintln!("redrive: {why}"));
    code.into()
}

async fn run() -> ExitReason {
    let command: Vec<_> = std::env::args_os().skip(1).collect();
    let address = std::env::var("AWS_LAMBDA_RUNTIME_API").unwrap_or_default();
    if command.is_empty() || address.is_empty() {
        let why =
            "set AWS_LAMBDA_EXEC_WRAPPER=/opt/redrive: Lambda then calls redrive with the runtime's command";
        return ExitReason::Usage(why.to_owned());
    }
    let lambda = Lambda::at(&address);
    let program = Program::new(command, lambda.clone());
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return ExitReason::Failed("SIGTERM cannot be received".to_owned());
    };
    // The runtime continues meanwhile, and Lambda kills what still runs afterwards.
    let ending = async {
        terminated.recv().await;
        timeout(GRACE, program.terminate()).await.ok().flatten()
    };
    let (Ok(reason) | Err(reason)) = tokio::select! {
        served = serve(&lambda, &program) => served,
        end = ending => Ok(ExitReason::Code(end.map_or(0, process::End::code))),
    };
    reason
}

/// Handles invocations until something ends it.
async fn serve(lambda: &Lambda, program: &Program) -> Result<ExitReason, ExitReason> {
    let started = program.start(true).await;
    let mut process = match started {
        Ok(process) => process,
        Err(error) => {
            return refuse(lambda, "Runtime.InvalidEntrypoint", ExitReason::Failed(error.to_string())).await;
        }
    };
    // The runtime starts meanwhile.
    let (consumer, function) = match prepare(program).await {
        Ok(prepared) => prepared,
        Err(why) => return refuse(lambda, "InvalidSetting", ExitReason::Usage(why)).await,
    };
    let ready = match timeout(FIRST_REQUEST, process.ready()).await {
        Ok(ready) => ready.map(|ask| ask.headers.clone()),
        Err(_elapsed) => {
            eprintln!(
                "redrive: the function has asked redrive for no event within {} s. If it handles events, something else sets its \
                 AWS_LAMBDA_RUNTIME_API, such as another wrapper, and redrive does nothing for its messages",
                FIRST_REQUEST.as_secs()
            );
            process.ready().await.map(|ask| ask.headers.clone())
        }
    };
    let headers = match ready {
        Ok(headers) => headers,
        Err(NotReady::Exited(end)) => return Ok(ExitReason::Code(end.code())),
        Err(NotReady::InitError(_) | NotReady::Passed) => {
            let end = timeout(GRACE, process.end()).await;
            return Ok(ExitReason::Code(end.map_or(1, process::End::code)));
        }
    };
    function.begin_with(process).await;
    loop {
        let invocation = lambda.next(&headers).await.map_err(ExitReason::Failed)?;
        match Records::of(&invocation.payload) {
            Some(records) => handle(lambda, &consumer, &function, &invocation, records).await?,
            None => pass(&function, invocation).await?,
        }
    }
}

/// Creates the consumer with its settings and clients.
///
/// # Errors
/// A setting is wrong.
async fn prepare(program: &Program) -> Result<(Consumer<Function, Bulk<Delivery>>, Function), String> {
    let settings = Settings::read(|name| std::env::var(name).ok())?;
    redrive::tools::start_log().map_err(|error| error.to_string())?;
    let function = Function::new(program.clone(), settings.rules);
    let consumer =
        outlives_handlers(Consumer::new(function.clone()).chunks(Chunks::of(settings.batch.get())));
    let consumer = consumer.concurrency(1).connect().await;
    Ok((consumer.map_err(|error| error.to_string())?, function))
}

/// Reports to Lambda why the function cannot start.
async fn refuse(lambda: &Lambda, kind: &str, reason: ExitReason) -> Result<ExitReason, ExitReason> {
    let (ExitReason::Usage(why) | ExitReason::Failed(why)) = &reason else { return Ok(reason) };
    // The line on stderr says it too.
    let _ = lambda.fail_init(kind, why).await;
    Ok(reason)
}

/// Hands an event that is not from SQS to the runtime, whose answer Lambda gets as it is.
async fn pass(function: &Function, invocation: Invocation) -> Result<(), ExitReason> {
    let Invocation { headers, payload } = invocation;
    match function.pass(Offer { headers, event: payload }).await {
        Ok(()) => Ok(()),
        Err(NoAnswer::Exited(end) | NoAnswer::NotReady(NotReady::Exited(end))) => {
            Err(ExitReason::Code(end.code()))
        }
        Err(NoAnswer::NotReady(not_ready)) => {
            let report = not_ready.report();
            Err(ExitReason::Failed(format!("{}: {}", report.kind, report.message)))
        }
    }
}

/// Lets redrive handle a batch, and answers Lambda.
async fn handle(
    lambda: &Lambda,
    consumer: &Consumer<Function, Bulk<Delivery>>,
    function: &Function,
    invocation: &Invocation,
    records: Records,
) -> Result<(), ExitReason> {
    function.begin(invocation.headers.clone(), records);
    let payload = serde_json::from_slice::<Box<RawValue>>(&invocation.payload);
    let payload = payload.map_err(|error| ExitReason::Failed(error.to_string()))?;
    let context = context(invocation)?;
    let answered = match consumer.handle_any(LambdaEvent::new(payload, context)).await {
        Ok(response) => lambda.respond(invocation, response.to_string().into()).await,
        Err(error) => {
            let Diagnostic { error_type, error_message } = error.into();
            lambda.fail(invocation, &error_type, &error_message).await.map_err(ExitReason::Failed)?;
            // A fresh environment does not know the event that redrive refused.
            return Err(ExitReason::Failed(format!("{error_type}: {error_message}")));
        }
    };
    answered.map_err(ExitReason::Failed)?;
    match function.exhausted().await {
        Some(why) => Err(ExitReason::Failed(why)),
        None => Ok(()),
    }
}

fn context(invocation: &Invocation) -> Result<Context, ExitReason> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let config = Config {
        function_name: variable("AWS_LAMBDA_FUNCTION_NAME"),
        memory: variable("AWS_LAMBDA_FUNCTION_MEMORY_SIZE").parse().unwrap_or_default(),
        version: variable("AWS_LAMBDA_FUNCTION_VERSION"),
        log_stream: variable("AWS_LAMBDA_LOG_STREAM_NAME"),
        log_group: variable("AWS_LAMBDA_LOG_GROUP_NAME"),
    };
    let id = invocation.header(&REQUEST_ID).unwrap_or_default();
    let context = Context::new(id, config.into(), &invocation.headers);
    context.map_err(|error| ExitReason::Failed(format!("Lambda sent headers that cannot be read: {error}")))
}
