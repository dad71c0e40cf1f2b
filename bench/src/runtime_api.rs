//! The Lambda Runtime API, which hands out the same event so many times, the AWS API that its function calls, and
//! a service that its handlers may ask.
//! <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::unistd::Pid;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::aws;
use crate::http::{Connection, Request};
use crate::kernel::Usage;

/// The function's timeout.
const TIMEOUT: Duration = Duration::from_secs(30);
const REQUEST_ID: &str = "8476a536-e9f4-11e8-9739-";

/// Where the service is.
pub(crate) const SERVICE: &str = "/service";

/// How long each call takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delays {
    pub(crate) aws: Duration,
    pub(crate) service: Duration,
}

pub(crate) struct RuntimeApi {
    pub(crate) event: Vec<u8>,
    pub(crate) invocations: usize,
    pub(crate) warm_up: usize,
    pub(crate) delays: Delays,
    pub(crate) spawned: OnceLock<Instant>,
    pub(crate) process: OnceLock<Pid>,
    log: Mutex<Log>,
    changed: Condvar,
}

/// What has happened so far. Times count from the start of the process.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// At the first poll, at the second, and at the one that ends the warm-up.
    pub(crate) started: Option<Moment>,
    pub(crate) once: Option<Moment>,
    pub(crate) warm: Option<Moment>,
    /// At the poll after the last invocation.
    pub(crate) ended: Option<Moment>,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) connections: usize,
    pub(crate) aws_calls: usize,
    pub(crate) service_calls: usize,
    pub(crate) problem: Option<String>,
    listeners: Vec<SocketAddr>,
    over: bool,
}

/// What the process had used at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) at: Duration,
    pub(crate) usage: Usage,
}

/// An event handed out, and its answer.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) sent: Duration,
    pub(crate) answered: Duration,
    pub(crate) response: Vec<u8>,
}

impl RuntimeApi {
    pub(crate) fn new(event: Vec<u8>, invocations: usize, warm_up: usize, delays: Delays) -> Self {
        Self {
            event,
            invocations,
            warm_up,
            delays,
            spawned: OnceLock::new(),
            process: OnceLock::new(),
            log: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("nobody panics while it holds the log")
    }

    /// Waits for news, not for long.
    pub(crate) fn wait<'a>(&self, log: MutexGuard<'a, Log>) -> MutexGuard<'a, Log> {
        let waited = self.changed.wait_timeout(log, Duration::from_millis(50));
        waited.expect("nobody panics while it holds the log").0
    }

    /// Lets go of the poller that waits for another event, and stops listening.
    pub(crate) fn end(&self) {
        let mut log = self.log();
        log.over = true;
        let listeners = std::mem::take(&mut log.listeners);
        drop(log);
        self.changed.notify_all();
        for address in listeners {
            // A last connection, so that the listener looks up and sees that it is over.
            drop(TcpStream::connect(address));
        }
    }

    /// Serves a thread per connection; with a certificate, over TLS. The threads end with their clients.
    pub(crate) fn serve(self: &Arc<Self>, tls: Option<Arc<ServerConfig>>) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        self.log().listeners.push(address);
        let api = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if api.log().over {
                    break;
                }
                api.log().connections += 1;
                let (api, tls) = (Arc::clone(&api), tls.clone());
                thread::spawn(move || {
                    let served = stream.set_nodelay(true).and_then(|()| match tls {
                        None => api.converse(Connection::new(stream)),
                        Some(tls) => {
                            let server = ServerConnection::new(tls).map_err(io::Error::other)?;
                            api.converse(Connection::new(StreamOwned::new(server, stream)))
                        }
                    });
                    if let Err(error) = served {
                        api.note_problem(format!("a connection broke: {error}"));
                    }
                });
            }
        });
        Ok(address)
    }

    fn converse<S: Read + Write>(&self, mut connection: Connection<S>) -> io::Result<()> {
        while let Some(request) = connection.request()? {
            let at = self.elapsed();
            let invocation = request.path.strip_prefix("/2018-06-01/runtime/invocation/");
            match (request.method.as_str(), invocation) {
                ("GET", Some("next")) => match self.next(at) {
                    Some(headers) => connection.respond("200 OK", &headers, &self.event)?,
                    None => break,
                },
                ("POST", Some(answer)) => {
                    self.take_answer(at, answer, &request);
                    connection.respond("202 Accepted", "", b"")?;
                }
                _ if request.path == SERVICE => {
                    self.log().service_calls += 1;
                    thread::sleep(self.delays.service);
                    connection.respond("200 OK", "Content-Type: application/json\r\n", b"{}")?;
                }
                _ if request.path == "/2018-06-01/runtime/init/error" => {
                    self.note_problem(format!("it could not start: {}", text(&request.body)));
                    connection.respond("202 Accepted", "", b"")?;
                }
                _ => {
                    self.log().aws_calls += 1;
                    thread::sleep(self.delays.aws);
                    match aws::answer(&request) {
                        Ok(answer) => connection.respond("200 OK", answer.headers, &answer.body)?,
                        Err(error) => {
                            self.note_problem(format!("{error:#}"));
                            connection.respond("400 Bad Request", "", b"")?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The headers of the next event; nothing when there is none any more and the run is over.
    fn next(&self, at: Duration) -> Option<String> {
        // A fast process can poll before the one that started it knows its id.
        let process = *self.process.wait();
        let mut log = self.log();
        let number = log.exchanges.len();
        let moment = match Usage::of(process) {
            Ok(usage) => Some(Moment { at, usage }),
            Err(error) => {
                log.problem.get_or_insert(format!("{error:#}"));
                None
            }
        };
        if number == 0 {
            log.started = moment;
        } else if number == 1 {
            log.once = moment;
        }
        if number == self.invocations {
            log.ended = moment;
            self.changed.notify_all();
            while !log.over {
                log = self.wait(log);
            }
            return None;
        }
        let deadline = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + TIMEOUT;
        let headers = format!(
            "Content-Type: application/json\r\n\
             Lambda-Runtime-Aws-Request-Id: {REQUEST_ID}{number:012x}\r\n\
             Lambda-Runtime-Deadline-Ms: {}\r\n\
             Lambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:eu-west-1:123456789012:function:bench\r\n\
             Lambda-Runtime-Trace-Id: Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0\r\n",
            deadline.as_millis()
        );
        let sent = self.elapsed();
        if number == self.warm_up {
            log.warm = moment.map(|moment| Moment { at: sent, ..moment });
        }
        log.exchanges.push(Exchange { sent, ..Exchange::default() });
        Some(headers)
    }

    fn take_answer(&self, at: Duration, path: &str, request: &Request) {
        let number = path.strip_prefix(REQUEST_ID).and_then(|rest| rest.strip_suffix("/response"));
        let number = number.and_then(|number| usize::from_str_radix(number, 16).ok());
        let mut log = self.log();
        match number.and_then(|number| log.exchanges.get_mut(number)) {
            Some(exchange) => {
                exchange.answered = at;
                exchange.response.clone_from(&request.body);
            }
            None => drop(log.problem.get_or_insert(format!("it answered {path}: {}", text(&request.body)))),
        }
    }

    fn elapsed(&self) -> Duration {
        self.spawned.get().map(Instant::elapsed).unwrap_or_default()
    }

    /// Ends the run with its first problem. What breaks once it is over is none.
    fn note_problem(&self, problem: String) {
        let mut log = self.log();
        if !log.over {
            log.problem.get_or_insert(problem);
            self.changed.notify_all();
        }
    }
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().take(300).collect()
}
