//! The address of a process's Runtime API.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;

/// The form of `AWS_LAMBDA_RUNTIME_API`. On Lambda it is an address and a port, from which each client builds a URL in its
/// own way. With a path behind them, no single form suits all clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressForm {
    /// `http://127.0.0.1:PORT/PATH`, for Rust's lambda_runtime, whose parser accepts a path only with a scheme.
    Url,
    /// `127.0.0.1:PORT/PATH`, for clients that put `http://` before it and their route behind it.
    WithoutScheme,
}

/// The name in lambda_runtime's user agent, before the first slash.
const RUST_CLIENT: &[u8] = b"aws-lambda-rust";

impl AddressForm {
    /// Returns the form that suits an executable. A script that does not name the variable is assumed to start a function in
    /// Rust.
    pub(crate) fn of(executable: &Path) -> Self {
        let Ok(mut file) = File::open(executable).map(BufReader::new) else { return Self::Url };
        let is_for_rust = if file.fill_buf().is_ok_and(|start| start.starts_with(b"#!")) {
            let mut script = Vec::new();
            // Parts that cannot be read count as missing.
            let _ = file.read_to_end(&mut script);
            !String::from_utf8_lossy(&script).contains("AWS_LAMBDA_RUNTIME_API")
        } else {
            file.split(b'/').map_while(Result::ok).any(|piece| piece.ends_with(RUST_CLIENT))
        };
        if is_for_rust { Self::Url } else { Self::WithoutScheme }
    }

    pub(super) fn write(self, address: SocketAddr, path: &str) -> String {
        match self {
            Self::Url => format!("http://{address}/{path}"),
            Self::WithoutScheme => format!("{address}/{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_address_form_suits_the_client_of_an_executable() {
        let folder = std::env::temp_dir().join(format!("redrive-address-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (executable, expected) in [
            (&b"\x7fELF\0..aws-lambda-rust/1.1.1User-Agent.."[..], AddressForm::Url),
            (b"\x7fELF\0..aws-lambda-go/..AWS_LAMBDA_RUNTIME_API..", AddressForm::WithoutScheme),
            (b"#!/bin/sh\nexec ./orders\n", AddressForm::Url),
            (
                b"#!/bin/sh\ncurl http://$AWS_LAMBDA_RUNTIME_API/2018-06-01/runtime/invocation/next\n",
                AddressForm::WithoutScheme,
            ),
            (b"", AddressForm::WithoutScheme),
        ] {
            let path = folder.join("bootstrap");
            fs::write(&path, executable).unwrap();
            assert_eq!(AddressForm::of(&path), expected, "{}", String::from_utf8_lossy(executable));
        }
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(AddressForm::of(&folder), AddressForm::Url);
    }

    #[test]
    fn a_path_stands_behind_the_address() {
        let address = SocketAddr::from(([127, 0, 0, 1], 9001));
        assert_eq!(AddressForm::Url.write(address, "secret"), "http://127.0.0.1:9001/secret");
        assert_eq!(AddressForm::WithoutScheme.write(address, "secret"), "127.0.0.1:9001/secret");
    }
}
