//! Claims and changes in any order get the answers that the rules of `Record` give.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use redrive::once::{Change, Claim, Claimed, End, Record};
use redrive_dynamodb::DynamoDb;
use tokio::runtime::Runtime;

#[derive(Debug, Clone)]
enum Step {
    Claim(Claim),
    Change(&'static str, Change),
    /// Lets time pass.
    Pass(Duration),
}

pub(crate) fn check(runtime: &Runtime, store: &DynamoDb) {
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let (case, answers) = (Cell::new(0), Cell::new([0; 5]));
    let run = |steps: Vec<Step>| -> Result<(), TestCaseError> {
        // Its own key, at a time that no emulator has reached, because emulators delete expired items.
        case.set(case.get() + 1);
        let key = format!("case-{}-{}", std::process::id(), case.get());
        runtime.block_on(follow(store, &key, steps, &answers));
        Ok(())
    };
    for steps in sequences() {
        run(steps).unwrap();
    }
    TestRunner::new(config).run(&prop::collection::vec(step(), 1..16), run).unwrap();
    let answers = answers.get();
    println!("granted, in progress, ended, changed, unchanged: {answers:?}");
    assert!(answers.iter().all(|&count| count > 4), "an answer was hardly seen");
}

async fn follow(store: &DynamoDb, key: &str, steps: Vec<Step>, answers: &Cell<[u32; 5]>) {
    let count = |answer: usize| {
        let mut counts = answers.get();
        counts[answer] += 1;
        answers.set(counts);
    };
    let mut now = UNIX_EPOCH + Duration::from_secs(since_1970() + 86_400);
    let mut model: Option<Record> = None;
    for step in steps {
        match step {
            Step::Pass(time) => now += time,
            Step::Claim(mut claim) => {
                key.clone_into(&mut claim.key);
                let expected = Record::claimed(model.as_ref(), &claim, now);
                assert_eq!(store.claim_at(&claim, now).await.unwrap(), expected, "{claim:?} on {model:?}");
                match expected {
                    Claimed::Granted => {
                        model = Some(Record::of(&claim, now));
                        count(0);
                    }
                    Claimed::InProgress { .. } => count(1),
                    Claimed::Ended { .. } => count(2),
                }
            }
            Step::Change(token, change) => {
                let before = model.clone();
                let expected = model.as_mut().is_some_and(|record| record.change(token, &change, now));
                let changed = store.change_at(key, token, &change, now).await.unwrap();
                assert_eq!(changed, expected, "{change:?} of {token} on {before:?}");
                count(if expected { 3 } else { 4 });
            }
        }
    }
}

/// Returns sequences that chance hardly finds.
fn sequences() -> [Vec<Step>; 1] {
    let claim = |token| {
        let mut claim = Claim::new("", token);
        claim.keep = Duration::from_secs(40);
        Step::Claim(claim)
    };
    // A lease that is renewed for longer than the record was to be kept.
    let renewal = Step::Change("a", Change::Renew(Duration::from_secs(90)));
    [vec![claim("a"), renewal, Step::Pass(Duration::from_secs(80)), claim("b")]]
}

fn since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Chooses from few tokens and few times, so that claims collide.
fn step() -> impl Strategy<Value = Step> {
    let token = || prop::sample::select(vec!["a", "a", "a", "b", "c"]);
    let seconds = |of: &[u64]| prop::sample::select(of.to_vec()).prop_map(Duration::from_secs);
    let payload = prop::sample::select(vec![None, Some("p"), Some("q")]);
    let claim = (token(), payload, 0_u32..3, seconds(&[0, 5, 30]), seconds(&[0, 20, 60])).prop_map(
        |(token, payload, redrives, lease, keep)| {
            let mut claim = Claim::new("", token);
            claim.payload = payload.map(str::to_owned);
            (claim.redrives, claim.lease, claim.keep) = (redrives, lease, keep);
            Step::Claim(claim)
        },
    );
    let rejected = |reason: Option<&str>, error: &str| End::Rejected {
        reason: reason.map(str::to_owned),
        error: error.to_owned(),
    };
    let ends = vec![End::Done, End::Discarded, rejected(Some("no-stock"), "sold out"), rejected(None, "")];
    let end = (prop::sample::select(ends), seconds(&[0, 20, 60]));
    let change = prop_oneof![
        1 => seconds(&[0, 10, 90]).prop_map(Change::Renew),
        1 => Just(Change::Release),
        2 => end.prop_map(|(end, keep)| Change::End { end, keep }),
    ];
    prop_oneof![
        4 => claim,
        4 => (token(), change).prop_map(|(token, change)| Step::Change(token, change)),
        1 => seconds(&[1, 10, 40]).prop_map(Step::Pass),
    ]
}
