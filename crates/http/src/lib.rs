//! How redrive reaches AWS: TLS by ring, through the proxy and with the certificates of a company's network. For redrive alone.

mod client;
mod variables;

pub use client::Network;
pub use variables::NetworkError;
