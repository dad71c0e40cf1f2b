//! The hand-written consumer as the documentation of lambda_runtime starts it.

use lambda_runtime::{Error, service_fn};

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(baseline::handle)).await
}
