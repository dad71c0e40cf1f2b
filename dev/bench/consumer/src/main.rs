//! redrive as its README starts it.

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(consumer::take).await
}
