//! Answers the page's HTTP requests.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path as InPath, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use percent_encoding::percent_decode_str;
use redrive_local::command::page::{error, guarded, question, respond};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::action::{self, LetterAction, Listing, Snoozing};
use super::child::Child;
use super::state::{Console, Snapshot, apart};
use super::{curves, files, letters};
use crate::fleet::DeadLetterQueue;
use crate::letters::when::rfc3339;

const KEY: &str = "x-redrive-key";

/// Time that a listing waits for the end of the previous one.
const PATIENCE: Duration = Duration::from_secs(30);

type Shared = State<Arc<Console>>;
type Answer = Result<Response, Refusal>;

/// An error answer.
#[derive(Debug)]
struct Refusal(StatusCode, String);

/// Answers an invalid request.
impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self(StatusCode::BAD_REQUEST, reason)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        error(self.0, &self.1)
    }
}

pub(super) fn router(console: &Arc<Console>) -> Router {
    let routes = Router::new()
        .route("/api/fleet", get(fleet))
        .route("/api/deployments", get(deployments))
        .route("/api/queue", get(queue))
        .route("/api/letters", post(list))
        .route("/api/errors", post(list_all))
        .route("/api/snooze", post(snooze))
        .route("/api/unlock", post(unlock))
        .route("/api/lock", post(lock))
        .route("/api/command", post(command))
        .route("/api/runs", post(start))
        .route("/api/runs/{number}", get(run))
        .route("/api/runs/{number}/stop", post(stop))
        .route("/api/history", get(history));
    let routes = routes.layer(from_fn_with_state(Arc::clone(console), keyed));
    guarded(routes.with_state(Arc::clone(console)), files::FILES)
}

/// Asks the user first, because showing a queue receives its letters, and any site may link to it.
pub(super) fn on_link() -> Response {
    question(include_str!("page/link.html"))
}

/// Checks the page's key: other users of this machine can reach its address.
async fn keyed(State(console): Shared, headers: HeaderMap, request: Request, next: Next) -> Response {
    match headers.get(KEY).is_some_and(|key| key.as_bytes() == console.key.as_bytes()) {
        true => next.run(request).await,
        false => error(StatusCode::UNAUTHORIZED, "open the page by the address that redrive console printed"),
    }
}

async fn fleet(State(console): Shared, uri: Uri) -> Response {
    let snapshot = console.snapshot(uri.query() == Some("fresh")).await;
    let Snapshot { at, facts, .. } = &*snapshot;
    let fleet = console.fleet(&snapshot).await;
    let visible: BTreeMap<&str, Vec<(u64, f64)>> = facts
        .iter()
        .flat_map(|facts| &facts.details)
        .map(|(arn, details)| {
            let points = details.visible.iter().map(|(past, value)| (past.as_secs(), *value));
            (arn.as_str(), points.collect())
        })
        .collect();
    respond(
        StatusCode::OK,
        &json!({
            "fleet": fleet, "visible": visible, "read_at": rfc3339(*at),
            "unlocked": *console.unlocked(), "exports": console.exports, "runs": console.runs.summaries(),
        }),
    )
}

/// Answers with the deployments of the most urgent queues' functions.
async fn deployments(State(console): Shared) -> Response {
    respond(StatusCode::OK, &*console.deployments().await)
}

async fn queue(State(console): Shared, uri: Uri) -> Answer {
    let named = uri.query().and_then(|query| query.strip_prefix("arn=")).unwrap_or_default();
    let arn = percent_decode_str(named).decode_utf8_lossy();
    let snapshot = console.snapshot(false).await;
    let row = console.queue(&arn).await?;
    let Some((aws, queue)) = snapshot.reached(&arn) else {
        return Err(Refusal(StatusCode::NOT_FOUND, format!("{arn} was not read")));
    };
    let curves = apart(move || async move { curves::read(&aws, &queue, &row.sources).await }).await;
    Ok(respond(StatusCode::OK, &curves))
}

async fn list(State(console): Shared, body: Bytes) -> Answer {
    let listing: Listing = read(&body)?;
    let queue = console.queue(&listing.queue).await?;
    if listing.may_move {
        check_unlocked(&console, &queue)?;
    }
    let words = action::list(&console.typed, &queue, &listing)?;
    if let Some(reason) = console.runs.refusal(&queue.arn) {
        return Err(Refusal(StatusCode::CONFLICT, reason));
    }
    // The listing of a reader who has just left may still have letters.
    let lock = timeout(PATIENCE, console.listing(&queue.arn).lock_owned()).await;
    let lock = lock.map_err(|_| {
        Refusal(StatusCode::CONFLICT, format!("another page lists the letters of {}: try again", queue.name))
    })?;
    letters::list(&console.program, &words, letters::OF_QUEUE, lock).map_err(fail)
}

async fn list_all(State(console): Shared) -> Answer {
    letters::list(&console.program, &action::list_all(&console.typed), letters::ALL, ()).map_err(fail)
}

async fn snooze(State(console): Shared, body: Bytes) -> Answer {
    let snoozing: Snoozing = read(&body)?;
    let queue = console.queue(&snoozing.queue).await?;
    let words = action::snooze(&console.typed, &queue, &snoozing).with(&[]);
    let said = Child::run(&console.program, &words).await?;
    Ok(respond(StatusCode::OK, &json!({ "said": said })))
}

/// A request to unlock the account of a queue, with the id that the user typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unlocking {
    queue: String,
    account: String,
}

async fn unlock(State(console): Shared, body: Bytes) -> Answer {
    let Unlocking { queue, account } = read(&body)?;
    let queue = console.queue(&queue).await?;
    if queue.account != account {
        return Err(format!(
            "account is {account:?}, allowed: {}, the account of {}",
            queue.account, queue.name
        )
        .into());
    }
    console.unlocked().insert(account);
    Ok(respond(StatusCode::OK, &json!({ "unlocked": *console.unlocked() })))
}

async fn lock(State(console): Shared) -> Response {
    console.unlocked().clear();
    respond(StatusCode::OK, &json!({ "unlocked": [] }))
}

/// Answers with the command before it runs.
async fn command(State(console): Shared, body: Bytes) -> Answer {
    let action: LetterAction = read(&body)?;
    let queue = console.queue(&action.queue).await?;
    let (_, shown) = action::act(&console.typed, &queue, &action, console.export(&queue).as_deref())?;
    Ok(respond(StatusCode::OK, &json!({ "command": shown.typed() })))
}

async fn start(State(console): Shared, body: Bytes) -> Answer {
    let action: LetterAction = read(&body)?;
    let queue = console.queue(&action.queue).await?;
    check_unlocked(&console, &queue)?;
    let export = console.export(&queue).filter(|_| action.export);
    let words = action::act(&console.typed, &queue, &action, export.as_deref())?;
    if let Some(file) = &export {
        make_folder(file).map_err(fail)?;
    }
    let listing = console.listing(&queue.arn);
    let run = console.runs.start(&console.program, queue, &action, words, listing);
    let run = run.map_err(|reason| Refusal(StatusCode::CONFLICT, reason))?;
    Ok(respond(StatusCode::CREATED, &run.details()))
}

fn check_unlocked(console: &Console, queue: &DeadLetterQueue) -> Result<(), Refusal> {
    match console.unlocked().contains(&queue.account) {
        true => Ok(()),
        false => {
            let reason = format!("account {} is locked: type its id to unlock it", queue.account);
            Err(Refusal(StatusCode::FORBIDDEN, reason))
        }
    }
}

async fn run(State(console): Shared, InPath(number): InPath<usize>, uri: Uri) -> Answer {
    let run = console.runs.find(number).ok_or_else(|| no_run(number))?;
    let version = uri.query().and_then(|query| query.strip_prefix("after=")?.parse().ok());
    let details: Value = match version {
        Some(version) => run.after(version).await,
        None => run.details(),
    };
    Ok(respond(StatusCode::OK, &details))
}

async fn stop(State(console): Shared, InPath(number): InPath<usize>) -> Answer {
    let run = console.runs.find(number).ok_or_else(|| no_run(number))?;
    run.stop();
    Ok(respond(StatusCode::OK, &run.details()))
}

async fn history(State(console): Shared) -> Answer {
    let history = &console.history;
    let entries = history.read().await;
    let entries = entries.map_err(|wrong| fail(format!("could not read the history: {wrong:#}")))?;
    Ok(respond(
        StatusCode::OK,
        &json!({ "entries": entries, "is_off": history.is_off(), "place": history.place() }),
    ))
}

/// Creates the folder of a file for its owner only.
fn make_folder(file: &Path) -> Result<(), String> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| format!("could not make {}: {error}", folder.display()))
}

fn no_run(number: usize) -> Refusal {
    Refusal(StatusCode::NOT_FOUND, format!("there is no run {number}"))
}

fn fail(reason: String) -> Refusal {
    Refusal(StatusCode::INTERNAL_SERVER_ERROR, reason)
}

fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    Ok(serde_json::from_slice(body).map_err(|wrong| wrong.to_string())?)
}
