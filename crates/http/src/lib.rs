//! HTTP clients for AWS: TLS by ring, with the proxy and the certificates of a company's network. Internal to redrive.

mod client;
mod variables;

pub use client::Network;
pub use variables::NetworkError;
