//! `--ui`: a page on loopback that shows a run live, and can send messages to it.
//!
//! `model` turns events into rows, `update` selects the rows that are new to a reader, `stream` sends them. `page/` contains
//! the browser's files. The run does not depend on the page, and a page that is opened later gets everything that is kept.

mod actions;
mod assets;
mod details;
mod letter;
mod logs;
mod message;
mod model;
mod routes;
mod samples;
mod search;
mod setup;
mod shared;
mod shelf;
mod stream;
mod update;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::plan::Plan;
use crate::command::problem::{OrProblem, Problem};
use crate::{Control, Event, Totals};
use setup::Setup;
use shared::Shared;

/// Time between two samples while no event arrives, because messages return without one.
const SAMPLE_PAUSE: Duration = Duration::from_millis(250);

/// How long the server waits until pages know that the run is over.
const END_NOTICE: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(super) struct Listener(TcpListener);

#[derive(Debug)]
pub(super) struct Page {
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
}

impl Listener {
    /// Listens on a port of 127.0.0.1, or on any free port for 0.
    pub(super) async fn open(port: u16) -> Result<Self, Problem> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.with_context(|| {
            format!("--ui {port}: could not listen on 127.0.0.1:{port}; choose another port, or 0 for any that is free")
        });
        listener.map(Self).or_failed()
    }

    pub(super) fn url(&self) -> Result<String, Problem> {
        let address = self.0.local_addr().map_err(|error| anyhow!(error)).or_failed()?;
        Ok(format!("http://{address}/"))
    }

    /// Serves the page of a run that has just started.
    pub(super) fn serve(self, plan: &Plan, control: Control) -> Page {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = format!("{:x}", since_epoch.as_nanos());
        let shared = Arc::new(Shared::new(control, Setup::new(plan), run));
        let routes = routes::router(Arc::clone(&shared));
        let mut tasks = JoinSet::new();
        tasks.spawn(crate::serve(self.0, routes));
        let looking = Arc::clone(&shared);
        tasks.spawn(async move {
            loop {
                looking.sample();
                tokio::time::sleep(SAMPLE_PAUSE).await;
            }
        });
        Page { shared, tasks }
    }
}

impl Page {
    pub(super) fn observe(&self, event: &Event) {
        self.shared.observe(event);
    }

    /// Reports the end of the run to open pages, and stops serving.
    pub(super) async fn close(mut self, totals: &Totals) {
        self.shared.end(totals);
        if self.shared.has_readers() {
            tokio::time::sleep(END_NOTICE).await;
        }
        self.tasks.shutdown().await;
    }
}
