//! Makes requests over a bare socket.

use redrive_local::Local;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Makes a request of AWS JSON and returns the whole response as text.
pub(crate) async fn call(local: &Local, path: &str, target: &str, body: &str) -> String {
    let headers = format!("x-amz-target: {target}\r\ncontent-type: application/x-amz-json-1.0");
    post(local, path, &headers, body).await
}

pub(crate) async fn post(local: &Local, path: &str, headers: &str, body: &str) -> String {
    let host = host(local);
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    raw(&host, &request).await
}

/// Returns the address of the endpoint, as in a `Host` header.
pub(crate) fn host(local: &Local) -> String {
    local.endpoint_url().replace("http://", "")
}

/// Makes a request, and returns everything up to the end of the connection.
pub(crate) async fn raw(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

/// Makes a request that must succeed, and returns the answer.
pub(crate) async fn json_call(local: &Local, target: &str, input: &Value) -> Value {
    let response = call(local, "/", target, &input.to_string()).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{target}: {response}");
    let (_, body) = response.split_once("\r\n\r\n").expect("a head and a body");
    serde_json::from_str(body).unwrap()
}
