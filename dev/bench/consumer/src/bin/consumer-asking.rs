//! The consumer whose handlers ask a service.

use consumer::Order;
use redrive::{Failure, Handler};
use service::Service;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Ok(redrive::run(Asking(Service::from_env()?)).await?)
}

struct Asking(Service);

impl Handler<Order> for Asking {
    type Error = Failure;

    async fn call(&self, order: Order) -> Result<(), Failure> {
        consumer::take(order).await?;
        Ok(self.0.ask().await?)
    }
}
