//! Eight workers share a rate.

use futures_util::future::join_all;
use redrive::Rate;
use redrive::tokens::Tokens;
use redrive_dynamodb::DynamoDb;

const BURST: u32 = 100;

pub(crate) async fn check(store: &DynamoDb) {
    let (key, rate) = (format!("rate-{}", std::process::id()), Rate::per_hour(1).burst(BURST));
    let leased = (0..8).map(|_| {
        let tokens = store.clone().tokens(&key);
        async move {
            let mut leased = 0;
            for _ in 0..BURST {
                leased += tokens.lease(3, &rate).await.unwrap().tokens();
            }
            leased
        }
    });
    let leased = join_all(leased).await;
    assert_eq!(leased.iter().sum::<u32>(), BURST, "{leased:?}");
}
