//! One transaction for each message.

use inserting::{Order, Table};
use redrive::{BoxError, Failure, Handler};

struct Insert(Table);

impl Handler<Order> for Insert {
    async fn call(&self, order: Order) -> Result<(), Failure> {
        Ok(self.0.insert([&order])?)
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    Ok(redrive::run(Insert(Table::open()?)).await?)
}
