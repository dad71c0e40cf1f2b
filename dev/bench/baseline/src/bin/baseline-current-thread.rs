//! The hand-written consumer on a runtime of one thread, for comparison.

use lambda_runtime::{Error, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(baseline::handle)).await
}
