//! Generated runs with duplicates: workers that are killed at any time, also between the effect and its record; handlers that
//! fail; and a store that is slow, throttled, or loses calls and answers.

use std::collections::BTreeMap;

use super::*;

/// What handlers have done for each key.
#[derive(Clone, Default)]
struct Effects(Arc<Mutex<BTreeMap<String, Effect>>>);

#[derive(Default)]
struct Effect {
    done: usize,
    running: usize,
}

/// Dropped when the handler ends, is canceled, or dies with its worker.
struct Running(Effects, String);

impl Effects {
    fn begin(&self, key: &str) -> Running {
        let mut effects = self.0.lock().unwrap();
        let effect = effects.entry(key.to_owned()).or_default();
        effect.running += 1;
        assert_eq!(effect.running, 1, "two handlers run for {key}");
        Running(self.clone(), key.to_owned())
    }
}

impl Running {
    fn done(&self) {
        self.0.0.lock().unwrap().get_mut(&self.1).unwrap().done += 1;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().get_mut(&self.1).unwrap().running -= 1;
    }
}

/// What goes wrong, in so many of a hundred cases.
#[derive(Debug, Clone, Copy)]
struct Weather {
    lost: u8,
    slow: u8,
    fails: u8,
    kills: u64,
}

const CALM: Weather = Weather { lost: 0, slow: 0, fails: 0, kills: 0 };
const STORM: Weather = Weather { lost: 15, slow: 15, fails: 20, kills: 4 };

/// Runs workers until all messages have ended. Returns how many effects there were, and how many keys.
async fn run(seed: u64, weather: Weather) -> (usize, usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let aws = TestAws::new();
    let queue =
        aws.queue("orders").dead_letter_queue("orders-dead", 50).visibility_timeout(secs(20)).create();
    let keys = rng.usize(1..6);
    let messages: Vec<_> =
        (0..rng.usize(keys..4 * keys)).map(|number| queue.send(format!("key-{}", number % keys))).collect();
    let mut of_store = rng.fork();
    let store = Scripted::new(move |_, _| match of_store.u8(0..100) {
        case if case < weather.lost => [Call::Refused, Call::Unanswered][of_store.usize(0..2)],
        case if case < weather.lost + weather.slow => Call::After(secs(of_store.u64(1..8))),
        _ => Call::After(Duration::from_millis(5)),
    });
    let effects = Effects::default();
    let (of_handlers, told) = (Arc::new(Mutex::new(rng.fork())), effects.clone());
    let handler = move |message: Text| {
        let (rng, effects) = (Arc::clone(&of_handlers), told.clone());
        async move {
            let running = effects.begin(&message.0);
            let (seconds, case) = {
                let mut rng = rng.lock().unwrap();
                (rng.u64(0..40), rng.u8(0..100))
            };
            sleep(secs(seconds)).await;
            if case < weather.fails {
                return Err("down");
            }
            running.done();
            Ok(())
        }
    };
    let consumer = Consumer::new(handler)
        .once(Once::new(Arc::clone(&store)).key(|message: &Text| message.0.clone()))
        .backoff(redrive::Backoff::fixed(secs(3)).unwrap())
        .sqs(aws.sqs());
    let mut workers = queue.worked_by(|url, stop| consumer.work_until(url, stop)).workers(2);
    for _ in 0..weather.kills {
        workers.killed_after(Duration::from_millis(rng.u64(100..40_000))).await;
    }
    workers.until_idle().await;
    for message in messages {
        let _ = message.done();
    }
    let effects = effects.0.lock().unwrap();
    for (key, effect) in &*effects {
        assert!(effect.done > 0, "seed {seed}: {key} was deleted, and nothing was done");
    }
    assert_eq!(effects.len(), keys, "seed {seed}");
    (effects.values().map(|effect| effect.done).sum(), keys)
}

#[tokio::test(start_paused = true)]
async fn where_nothing_goes_wrong_each_key_has_one_effect() {
    for seed in 0..20 {
        let (effects, keys) = run(seed, CALM).await;
        assert_eq!(effects, keys, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn handlers_that_fail_and_calls_that_are_slow_repeat_no_effect() {
    for seed in 0..20 {
        let (effects, keys) = run(seed, Weather { slow: 20, fails: 30, ..CALM }).await;
        assert_eq!(effects, keys, "seed {seed}");
    }
}

/// What is lost between an effect and its record can repeat the effect, but no two handlers of a key run at the same time, and
/// nothing is lost.
#[tokio::test(start_paused = true)]
async fn in_a_storm_no_two_handlers_of_a_key_run_at_the_same_time_and_nothing_is_lost() {
    let mut repeated = 0;
    for seed in 0..40 {
        let (effects, keys) = run(seed, STORM).await;
        repeated += effects - keys;
    }
    println!("{repeated} effects were repeated in 40 storms");
    assert!(repeated > 0, "a storm in which no record is lost shows nothing");
}
