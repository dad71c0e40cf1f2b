//! One process of a function, from start to end.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::log::{Log, Report};
use super::program::Program;
use super::routes::{Exchange, Offer, Reply, router};
use super::{Ended, Function, INIT_LIMIT, environment};
use crate::gate;

/// A process. Dropping it kills it. [`end`](Self::end) also waits until it is gone.
#[derive(Debug)]
pub(crate) struct Process {
    program: Program,
    offers: UnboundedSender<Offer>,
    replies: UnboundedReceiver<Reply>,
    log: Log,
    started: Instant,
    /// Time from its start to its first request for work, until the first invocation is reported.
    init: Option<Duration>,
    /// The Runtime API.
    _server: JoinSet<()>,
}

impl Process {
    /// Waits until the process requests work.
    ///
    /// # Errors
    /// Returns the reason if it does not: it ended, it reported an error, or it took more than ten seconds.
    pub(crate) async fn ready(&mut self) -> Result<(), String> {
        tokio::select! {
            biased;
            reply = self.replies.recv() => match reply {
                Some(Reply::Ready) => {
                    self.init = Some(self.started.elapsed());
                    Ok(())
                }
                Some(Reply::InitError(error)) => Err(reported(&error)),
                Some(Reply::Ended(_)) | None => Err("it answered an invocation that it did not receive".into()),
            },
            exit = self.program.exited() => Err(self.init_error(&exit)),
            () = tokio::time::sleep(INIT_LIMIT) => {
                Err(format!("it did not poll the Runtime API within {} s", INIT_LIMIT.as_secs()))
            }
        }
    }

    /// Starts a process.
    ///
    /// # Errors
    /// Returns an error if it cannot be run.
    pub(crate) async fn spawn(function: &Function, log: Log) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let path = uuid::Uuid::new_v4().simple().to_string();
        let runtime_api = function.address_form.write(listener.local_addr()?, &path);
        let environment = environment::variables(function, &runtime_api, log.stream());
        let program = Program::spawn(function, environment, &log)?;
        let (offers, offered) = unbounded_channel();
        let (reply, replies) = unbounded_channel();
        let routes = router(&path, Exchange::new(offered, reply));
        let mut server = JoinSet::new();
        server.spawn(gate::serve(listener, routes));
        let started = Instant::now();
        Ok(Self { program, offers, replies, log, started, init: None, _server: server })
    }

    /// Returns true if the process can still get work.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.program.is_alive()
    }

    /// Passes an event to the process, and waits for the end of the invocation. After the function's timeout it kills the
    /// process, as Lambda does.
    pub(crate) async fn invoke(
        &mut self,
        function: &Function,
        request_id: &str,
        now: SystemTime,
        event: Vec<u8>,
    ) -> Ended {
        self.log.start(request_id);
        let begun = Instant::now();
        let ended = self.exchange(function, request_id, now, event).await;
        let (duration, init) = (begun.elapsed(), self.init.take());
        let memory_mb = function.config.memory_mb;
        self.log.end(request_id, &Report { duration, init, memory_mb, ended: &ended });
        ended
    }

    async fn exchange(
        &mut self,
        function: &Function,
        request_id: &str,
        now: SystemTime,
        event: Vec<u8>,
    ) -> Ended {
        let timeout = function.config.timeout;
        let offer = Offer {
            request_id: request_id.into(),
            headers: headers(function, request_id, now),
            event: Bytes::from(event),
        };
        if self.offers.send(offer).is_err() {
            return Ended::Exited("its Runtime API has ended".into());
        }
        let timeout = tokio::time::sleep(timeout);
        tokio::pin!(timeout);
        loop {
            tokio::select! {
                biased;
                reply = self.replies.recv() => match reply {
                    Some(Reply::Ended(ended)) => return ended,
                    // The process requests work again after each invocation.
                    Some(Reply::Ready) => (),
                    Some(Reply::InitError(error)) => return Ended::Error(error),
                    None => return Ended::Exited("its Runtime API has ended".into()),
                },
                exit = self.program.exited() => return self.end_after_exit(exit),
                () = &mut timeout => {
                    self.program.kill().await;
                    return Ended::TimedOut;
                }
            }
        }
    }

    /// Kills the process, waits until it is gone and its output has been passed on, and returns its last lines.
    pub(crate) async fn end(self) -> Vec<String> {
        self.program.end().await
    }

    /// Returns the end of the invocation. The process may have answered just before it ended.
    fn end_after_exit(&mut self, exit: String) -> Ended {
        while let Ok(reply) = self.replies.try_recv() {
            if let Reply::Ended(ended) = reply {
                return ended;
            }
        }
        Ended::Exited(exit)
    }

    /// Returns the reason why the process did not start, which it may have reported just before it ended.
    fn init_error(&mut self, exit: &str) -> String {
        match self.replies.try_recv() {
            Ok(Reply::InitError(error)) => reported(&error),
            Ok(Reply::Ready | Reply::Ended(_)) | Err(_) => {
                format!("it exited before it polled the Runtime API ({exit})")
            }
        }
    }
}

fn reported(error: &str) -> String {
    format!("it reported {error}")
}

/// Returns the headers of an invocation. The deadline is real, since the function runs in real time. The last header is not
/// Lambda's: redrive uses it to time outages by the simulated clock.
fn headers(function: &Function, request_id: &str, now: SystemTime) -> Vec<(&'static str, String)> {
    let since_epoch = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let deadline = since_epoch(SystemTime::now() + function.config.timeout);
    let id = uuid::Uuid::new_v4().simple().to_string();
    let trace = format!(
        "Root=1-{:08x}-{};Parent={};Sampled=0",
        since_epoch(now).as_secs(),
        &id[..24],
        &uuid::Uuid::new_v4().simple().to_string()[..16]
    );
    vec![
        ("lambda-runtime-aws-request-id", request_id.into()),
        ("lambda-runtime-deadline-ms", deadline.as_millis().to_string()),
        ("lambda-runtime-invoked-function-arn", function.arn()),
        ("lambda-runtime-trace-id", trace),
        ("redrive-local-time-ms", since_epoch(now).as_millis().to_string()),
    ]
}
