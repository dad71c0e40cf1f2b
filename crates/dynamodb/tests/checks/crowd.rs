//! Fifty workers want one key at the same time.

use std::time::Duration;

use futures_util::future::join_all;
use redrive::once::{Change, Claim, Claimed, End, Store};
use redrive_dynamodb::DynamoDb;

const WORKERS: usize = 50;

pub(crate) async fn check(store: DynamoDb) {
    let key = format!("crowd-{}", std::process::id());
    let (key, store) = (key.as_str(), &store);
    let claims = |round: u32| {
        join_all((0..WORKERS).map(|worker| async move {
            let token = format!("{round}-{worker}");
            let mut claim = Claim::new(key, &*token);
            claim.lease = Duration::from_secs(600);
            (token, store.claim(&claim).await.unwrap())
        }))
    };
    let end = Change::End { end: End::Done, keep: Duration::from_secs(600) };
    for (round, change) in
        [&Change::Release, &Change::Release, &Change::Renew(Duration::ZERO), &end].into_iter().enumerate()
    {
        let answers = claims(u32::try_from(round).unwrap()).await;
        let granted: Vec<_> = answers.iter().filter(|(_, answer)| *answer == Claimed::Granted).collect();
        let [(owner, _)] = granted[..] else { panic!("{} workers have the key", granted.len()) };
        let waits = |answer: &Claimed| matches!(answer, Claimed::Granted | Claimed::InProgress { .. });
        assert!(answers.iter().all(|(_, answer)| waits(answer)), "{answers:?}");
        // All workers report the change, and only the owner's counts.
        let changes = join_all(answers.iter().map(|(token, _)| store.change(key, token, change))).await;
        let changed: Vec<_> =
            answers.iter().zip(changes).filter(|(_, changed)| *changed.as_ref().unwrap()).collect();
        assert!(matches!(changed[..], [((token, _), _)] if token == owner), "{changed:?}");
    }
    let ended = Claimed::Ended { end: End::Done, payload: None };
    assert!(claims(9).await.iter().all(|(_, answer)| *answer == ended));
}
