//! `redrive console`: all dead-letter queues on a page.
//!
//! The page does nothing by itself. To look at letters or to change something, `routes` runs a verb of this command in a
//! process (`child`), with the arguments that `action` made and the page shows. So the rules about letters exist only once.

mod action;
mod child;
mod curves;
mod files;
mod letters;
mod progress;
mod routes;
mod runs;
mod state;

use std::fs::File;
use std::io::Read;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;

use self::state::Console;
use crate::fleet::{Places, first};
use crate::history::History;
use crate::output;
use crate::problem::{OrProblem, Problem};
use crate::sqs::Stop;
use crate::store::StorePlace;
use crate::tell::tell;
use crate::wait::wait;

/// Shows all dead-letter queues on a local web page, where you can retry, edit and delete letters.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive console
      shows the dead-letter queues of one account and region
  redrive console --profile shop --profile billing --region eu-west-1 --region us-east-1
      shows those of two accounts in two regions

The command prints the page's address, with a key that only this page knows. It listens on 127.0.0.1 until Ctrl-C. The page is
read-only until you type the id of an account to unlock it. Each action runs a verb of this command with your AWS profile, and
the page shows that command.

The page reads counts and metrics every minute while it is visible. It receives letters only when you open a
queue or group the errors of all queues. It makes these letters visible again at once.

Exit codes: 0 done, 1 failed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// Port of 127.0.0.1 for the page, 0 for any free port
    #[arg(long, value_name = "PORT", default_value_t = 7_020)]
    port: u16,

    /// Tag that names the owner of a dead-letter queue
    #[arg(long, value_name = "NAME", default_value = "owner")]
    owner_tag: String,

    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    wait(async {
        let stop = Stop::listen().or_failed()?;
        let named = StorePlace::from_env()?;
        let places = arguments.places.connect().await?;
        let exports = named.folder().map(|folder| folder.join("exports"));
        let history = History::new(named.reach(async || first(&places)).await?);
        let port = arguments.port;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.with_context(|| {
            format!("--port {port}: could not listen on 127.0.0.1:{port}; choose another port, or 0 for any free port")
        });
        let listener = listener.or_failed()?;
        let address = listener.local_addr().context("the page has no address").or_failed()?;
        let key = key().context("could not read /dev/urandom for the page's key").or_failed()?;
        output::print(format!("http://{address}/#key={key}")).or_failed()?;
        tell("redrive: open this address in a browser; Ctrl-C ends the page");
        let program = std::env::current_exe().context("could not find the command itself").or_failed()?;
        let console =
            Console::new(&arguments.places, places, &arguments.owner_tag, key, program, history, exports);
        let console = Arc::new(console);
        let first = Arc::clone(&console);
        // The page can show queues as soon as somebody opens it.
        let read = tokio::spawn(async move { drop(first.snapshot(false).await) });
        tokio::select! {
            () = redrive_local::serve_page(listener, routes::router(&console), routes::on_link) => (),
            () = stop.wanted() => (),
        }
        read.abort();
        console.runs.end().await;
        Ok(())
    })
}

/// Returns 128 random bits as hex.
fn key() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
