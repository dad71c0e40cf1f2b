use redrive::{Failure, Message, Record};

async fn place(order: Message<String>) -> Result<(), Failure> {
    if order.body.is_empty() {
        return Err(Failure::reject("an order needs an address").with_reason("bad-address"));
    }
    match warehouse(&order.body) {
        Err(_) if order.is_last_attempt() => {
            Err(Failure::reject("no warehouse took it").with_reason("no-warehouse"))
        }
        answer => Ok(answer?),
    }
}

fn warehouse(_address: &str) -> Result<(), std::io::Error> {
    Err(std::io::ErrorKind::ConnectionRefused.into())
}

#[tokio::test]
async fn an_order_without_an_address_is_rejected() {
    let failure = place(Message::new(String::new())).await.unwrap_err();
    assert!(failure.is_rejection());
    assert_eq!(failure.reason(), Some("bad-address"));
}

#[tokio::test]
async fn a_warehouse_that_is_down_is_retried_until_the_last_attempt() {
    let order =
        |attempt| Record::builder().attempt(attempt).max_attempts(5).message("1 Main Street".to_owned());

    let failure = place(order(4)).await.unwrap_err();
    assert!(failure.is_retry() && failure.find::<std::io::Error>().is_some());

    let failure = place(order(5)).await.unwrap_err();
    assert_eq!(failure.reason(), Some("no-warehouse"));
}
