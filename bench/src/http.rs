//! As much of HTTP/1.1 as a Lambda runtime and an AWS client speak, on a blocking stream: the server's own cost stays
//! in the microseconds.

use std::io::{self, ErrorKind, Read, Write};

/// Lambda runtimes send far fewer.
const MOST_HEADERS: usize = 64;

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// By its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// One client.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    stream: S,
    unread: Vec<u8>,
}

impl<S: Read + Write> Connection<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, unread: Vec::new() }
    }

    /// Nothing when the client has gone.
    pub(crate) fn request(&mut self) -> io::Result<Option<Request>> {
        let (head, mut request) = loop {
            if let Some(parsed) = parse(&self.unread)? {
                break parsed;
            }
            if !self.fill()? {
                return Ok(None);
            }
        };
        if request.header("transfer-encoding").is_some() {
            return Err(io::Error::other("a body whose length is not announced"));
        }
        if request.header("expect").is_some() {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            self.stream.flush()?;
        }
        let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(io::Error::other)?;
        while self.unread.len() < head + length {
            if !self.fill()? {
                return Ok(None);
            }
        }
        request.body = self.unread[head..head + length].to_vec();
        self.unread.drain(..head + length);
        Ok(Some(request))
    }

    /// `headers` are whole lines, each with its end.
    pub(crate) fn respond(&mut self, status: &str, headers: &str, body: &[u8]) -> io::Result<()> {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
        // In one piece, as one segment where it fits.
        self.stream.write_all(&[head.as_bytes(), body].concat())?;
        self.stream.flush()
    }

    fn fill(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 64 * 1024];
        let read = match self.stream.read(&mut chunk) {
            Ok(read) => read,
            // A client may leave as it likes, without the farewell of TLS as well.
            Err(gone) if matches!(gone.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => 0,
            Err(error) => return Err(error),
        };
        self.unread.extend_from_slice(&chunk[..read]);
        Ok(read > 0)
    }
}

/// The head of a request and its length; nothing while it is incomplete.
fn parse(bytes: &[u8]) -> io::Result<Option<(usize, Request)>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = parsed.parse(bytes).map_err(io::Error::other)? else {
        return Ok(None);
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        headers: parsed.headers.iter().map(|it| (it.name.to_ascii_lowercase(), text(it.value))).collect(),
        body: Vec::new(),
    };
    Ok(Some((head, request)))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Hands out its pieces one by one and keeps what is written.
    struct Pieces(VecDeque<&'static [u8]>, Vec<u8>);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop_front().unwrap_or_default();
            into[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn connection(pieces: &[&'static [u8]]) -> Connection<Pieces> {
        Connection::new(Pieces(pieces.iter().copied().collect(), Vec::new()))
    }

    #[test]
    fn requests_are_read_one_by_one_however_they_are_cut() {
        let mut connection = connection(&[
            b"POST /a HT",
            b"TP/1.1\r\nContent-Length: 5\r\n\r\nhe",
            b"lloGET /b HTTP/1.1\r\n\r\n",
        ]);
        let first = connection.request().unwrap().unwrap();
        assert_eq!(
            (first.method.as_str(), first.path.as_str(), first.body.as_slice()),
            ("POST", "/a", &b"hello"[..])
        );
        let second = connection.request().unwrap().unwrap();
        assert_eq!((second.path.as_str(), second.body.len()), ("/b", 0));
        assert!(connection.request().unwrap().is_none());
    }

    #[test]
    fn a_body_of_unknown_length_is_refused() {
        let mut connection = connection(&[b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"]);
        let error = connection.request().unwrap_err();
        assert_eq!(error.to_string(), "a body whose length is not announced");
    }

    #[test]
    fn a_response_is_written_whole() {
        let mut connection = connection(&[]);
        connection.respond("200 OK", "A: b\r\n", b"hi").unwrap();
        assert_eq!(connection.stream.1, b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nhi");
    }
}
