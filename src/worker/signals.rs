//! The signals that end workers.

use std::io;
#[cfg(unix)]
use std::sync::OnceLock;

use futures_util::stream::{self, Stream, StreamExt};

/// The first signal that a worker of this process received. It ends later workers too.
#[cfg(unix)]
static SIGNALED: OnceLock<&str> = OnceLock::new();

/// Returns the names of the SIGTERM and SIGINT signals that arrive from now on, after the first one that an earlier worker received.
#[cfg(unix)]
pub(super) fn signals() -> io::Result<impl Stream<Item = &'static str> + Send + Unpin> {
    use tokio::signal::unix::{SignalKind, signal};

    let each = |kind, name| -> io::Result<_> {
        let mut signal = signal(kind)?;
        let told = move |()| {
            SIGNALED.get_or_init(|| name);
            name
        };
        Ok(stream::poll_fn(move |context| signal.poll_recv(context).map(|came| came.map(told))))
    };
    let signals =
        stream::select(each(SignalKind::terminate(), "SIGTERM")?, each(SignalKind::interrupt(), "SIGINT")?);
    Ok(stream::iter(SIGNALED.get().copied()).chain(signals))
}

/// Returns the Ctrl-C events.
#[cfg(not(unix))]
pub(super) fn signals() -> io::Result<impl Stream<Item = &'static str> + Send + Unpin> {
    let came = |()| async { tokio::signal::ctrl_c().await.ok().map(|()| ("Ctrl-C", ())) };
    Ok(Box::pin(stream::unfold((), came)))
}
