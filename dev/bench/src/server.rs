//! The servers that a function's process calls: its Runtime API, AWS, and a service for its handlers.

use std::convert::Infallible;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::routing::any;
use hyper::Response;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use redrive_local::runtime::{Exchange, routes};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedSender;
use tokio_rustls::TlsAcceptor;

use crate::aws;

/// Path of the service.
pub(crate) const SERVICE: &str = "/service";

/// Duration of a call to the service.
const SERVICE_TAKES: Duration = Duration::from_millis(5);

#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Duration of each call to AWS.
    aws_takes: Duration,
    /// Receives the problems of a run.
    problems: UnboundedSender<String>,
}

impl Server {
    pub(crate) const fn new(aws_takes: Duration, problems: UnboundedSender<String>) -> Self {
        Self { aws_takes, problems }
    }

    pub(crate) fn router(&self, exchange: Exchange) -> Router {
        let others = Router::new().route(SERVICE, any(ask)).fallback(call).with_state(self.clone());
        routes(exchange).merge(others)
    }

    /// Serves the router, over TLS if there is a certificate. The tasks end with their clients.
    pub(crate) async fn serve(
        &self,
        router: Router,
        tls: Option<Arc<ServerConfig>>,
    ) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (server, tls) = (self.clone(), tls.map(TlsAcceptor::from));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (server, router, tls) = (server.clone(), router.clone(), tls.clone());
                tokio::spawn(async move {
                    let served = match (stream.set_nodelay(true), tls) {
                        (Err(error), _) => Err(error),
                        (Ok(()), None) => converse(stream, router).await,
                        (Ok(()), Some(tls)) => match tls.accept(stream).await {
                            Ok(stream) => converse(stream, router).await,
                            Err(error) => Err(error),
                        },
                    };
                    if let Err(error) = served {
                        server.report(format!("a connection broke: {error}"));
                    }
                });
            }
        });
        Ok(address)
    }

    fn report(&self, problem: String) {
        // Nobody receives problems after the end of the run.
        let _ = self.problems.send(problem);
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) -> io::Result<()> {
    let service = TowerToHyperService::new(router);
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    // A client may disconnect at any time, even without the closing message of TLS.
    served.or_else(|error| if has_left(&error) { Ok(()) } else { Err(io::Error::other(error)) })
}

fn has_left(error: &hyper::Error) -> bool {
    let broken = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let kinds = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::NotConnected];
    error.is_incomplete_message() || broken.is_some_and(|error| kinds.contains(&error.kind()))
}

async fn ask() -> Response<Body> {
    pause(SERVICE_TAKES).await;
    let response = Response::builder().header("content-type", "application/json");
    response.body("{}".into()).expect("the header is valid")
}

async fn call(State(server): State<Server>, request: Request) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    pause(server.aws_takes).await;
    Ok(aws::answer(&Request::from_parts(head, body)).unwrap_or_else(|error| {
        server.report(format!("{error:#}"));
        let mut refusal = Response::new(Body::empty());
        *refusal.status_mut() = hyper::StatusCode::BAD_REQUEST;
        refusal
    }))
}

/// Waits without tokio's timers, which only have milliseconds.
async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::task::spawn_blocking(move || thread::sleep(time)).await.expect("sleeping does not panic");
    }
}
