//! One transaction for all messages of a batch.

use inserting::{Order, Table};
use redrive::{BoxError, Bulk, Failure, Handler};

struct Insert(Table);

impl Handler<Bulk<Order>> for Insert {
    async fn call(&self, orders: Bulk<Order>) -> Result<(), Failure> {
        Ok(self.0.insert(orders.iter().map(|order| &**order))?)
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    Ok(redrive::run_bulk(Insert(Table::open()?)).await?)
}
