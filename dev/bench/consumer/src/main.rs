//! The consumer as redrive's README starts it.

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(consumer::take).await
}
