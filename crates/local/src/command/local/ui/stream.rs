//! Server-sent events: each reader gets the rows that are new to it, at its own pace. A slow reader gets the latest state of
//! each row instead of a backlog, and one that reconnects continues from its last version.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::shared::Shared;
use super::update::Update;
use crate::command::page::error;

/// Changes within this time are sent together.
const COALESCED: Duration = Duration::from_millis(40);

struct Reader {
    shared: Arc<Shared>,
    changes: watch::Receiver<()>,
    /// The version up to which the reader knows everything, 0 for nothing.
    knows: u64,
    more: bool,
    ended: bool,
    _room: OwnedSemaphorePermit,
}

pub(super) async fn events(State(shared): State<Arc<Shared>>, headers: HeaderMap, uri: Uri) -> Response {
    let Ok(room) = Arc::clone(&shared.readers).try_acquire_owned() else {
        return error(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open");
    };
    // A browser that reconnects sends the header, a page that reconnects sends the parameter.
    let header = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let query = uri.query().and_then(|query| query.strip_prefix("after="));
    let knows = known(header.or(query).unwrap_or_default(), &shared.run);
    let changes = shared.changes.subscribe();
    let reader = Reader { shared, changes, knows, more: true, ended: false, _room: room };
    let events = unfold(reader, async |mut reader| {
        let event = reader.next().await?;
        Some((Ok::<_, Infallible>(event), reader))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// Returns the version in the id of the last event, unless it belongs to another run.
fn known(last_event_id: &str, run: &str) -> u64 {
    let version = last_event_id.rsplit_once('-').filter(|(of, _)| *of == run);
    version.and_then(|(_, version)| version.parse().ok()).unwrap_or(0)
}

impl Reader {
    async fn next(&mut self) -> Option<Event> {
        if self.ended {
            return None;
        }
        if !self.more {
            // The sender is dropped only together with the server.
            self.changes.changed().await.ok()?;
            tokio::time::sleep(COALESCED).await;
        }
        self.changes.mark_unchanged();
        let clock = self.shared.clock();
        let ended = self.shared.ended().clone();
        let model = self.shared.model();
        let mut update = Update::new(&model, self.knows, clock);
        update.setup = (self.knows == 0).then_some(&self.shared.setup.told);
        update.ended = ended.as_ref().filter(|_| !update.more);
        let id = format!("{}-{}", self.shared.run, update.version);
        let json = serde_json::to_string(&update).expect("an update is a map with text keys");
        (self.knows, self.more, self.ended) = (update.version, update.more, update.ended.is_some());
        Some(Event::default().id(id).data(json))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_goes_on_where_it_was_but_only_in_the_same_run() {
        for (id, version) in [("7-a-42", 42), ("7-b-42", 0), ("", 0), ("7-a-", 0), ("42", 0)] {
            assert_eq!(known(id, "7-a"), version, "{id}");
        }
    }
}
