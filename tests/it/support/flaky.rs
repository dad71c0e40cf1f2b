//! An SQS on loopback whose connections die unnoticed: the next request resets them, as after a freeze.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

#[derive(Debug)]
pub(crate) struct Flaky {
    pub(crate) url: String,
    state: Arc<Counts>,
    _server: JoinSet<()>,
}

#[derive(Debug)]
struct Counts {
    /// Nothing is answered before so many connections are open.
    together: usize,
    /// Connections are alive in the age in which they were opened.
    age: AtomicUsize,
    opened: watch::Sender<usize>,
    confirmed: AtomicUsize,
    /// So many requests more are reset, on whatever connection.
    resets: AtomicUsize,
}

impl Flaky {
    /// Calls side by side have so many connections, since none is answered before.
    pub(crate) async fn start(together: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Counts {
            together,
            age: AtomicUsize::default(),
            opened: watch::Sender::default(),
            confirmed: AtomicUsize::default(),
            resets: AtomicUsize::default(),
        });
        let counts = Arc::clone(&state);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counts.opened.send_modify(|opened| *opened += 1);
                connections.spawn(serve(stream, Arc::clone(&counts)));
            }
        });
        Self { url, state, _server: server }
    }

    /// All connections die, and nobody is told.
    pub(crate) fn kill_connections(&self) {
        self.state.age.fetch_add(1, SeqCst);
    }

    /// The next requests are reset.
    pub(crate) fn reset(&self, requests: usize) {
        self.state.resets.store(requests, SeqCst);
    }

    pub(crate) fn opened(&self) -> usize {
        *self.state.opened.borrow()
    }

    /// How many entries were confirmed.
    pub(crate) fn confirmed(&self) -> usize {
        self.state.confirmed.load(SeqCst)
    }
}

async fn serve(mut stream: TcpStream, counts: Arc<Counts>) {
    let born = counts.age.load(SeqCst);
    let (mut request, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        let Ok(read @ 1..) = stream.read(&mut piece).await else { return };
        let spare = |left: usize| left.checked_sub(1);
        // What is closed with something unread is reset.
        if counts.age.load(SeqCst) != born || counts.resets.fetch_update(SeqCst, SeqCst, spare).is_ok() {
            return;
        }
        request.extend_from_slice(&piece[..read]);
        let Some(entries) = entries(&request) else { continue };
        request.clear();
        counts.opened.subscribe().wait_for(|&opened| opened >= counts.together).await.unwrap();
        let done: Vec<_> = entries.iter().map(|entry| json!({ "Id": entry["Id"] })).collect();
        let body = json!({ "Successful": done, "Failed": [] }).to_string();
        let head = format!("content-type: application/x-amz-json-1.0\r\ncontent-length: {}", body.len());
        counts.confirmed.fetch_add(done.len(), SeqCst);
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
    }
}

/// The entries of a request, once all of it is there.
fn entries(request: &[u8]) -> Option<Vec<Value>> {
    let end = request.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let body = request.get(end + 4..end + 4 + length.parse::<usize>().unwrap())?;
    let body: Value = serde_json::from_slice(body).unwrap();
    Some(body["Entries"].as_array().unwrap().clone())
}
