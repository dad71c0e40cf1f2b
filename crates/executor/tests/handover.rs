//! Tests the hand-over of the front between threads, under a scheduler that tries out interleavings. redrive's own run queue is
//! compiled here with shuttle's locks instead of those of the standard library.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../src/run_queue.rs"]
#[allow(dead_code, unreachable_pub, reason = "the model needs a part of it")]
mod run_queue;
mod sync {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
}

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

use run_queue::{MAX_BLOCKED, Next, RunQueue, Start, ThreadId};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

/// A task that a thread polls.
#[derive(Debug, Clone, Copy)]
enum Item {
    Quick(usize),
    /// Is woken by a thread of another runtime, and done at the second poll.
    Waits(usize),
    /// Blocks its thread until the front has ended.
    Blocks,
}

const PARALLELISM: usize = 2;

struct Model {
    queue: RunQueue<Item>,
    front: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    woken: std::sync::Arc<Woken>,
    state: Mutex<State>,
    ended: Condvar,
}

/// Wakes the thread that drives the front, as the waker of tokio's runtime does.
#[derive(Default)]
struct Woken {
    is_woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        *self.is_woken.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl Woken {
    fn block_on(self: &std::sync::Arc<Self>, mut poll: impl FnMut(&mut Context<'_>) -> Poll<()>) {
        let waker = Waker::from(std::sync::Arc::clone(self));
        while poll(&mut Context::from_waker(&waker)).is_pending() {
            let mut is_woken = self.is_woken.lock().unwrap();
            while !std::mem::take(&mut *is_woken) {
                is_woken = self.changed.wait(is_woken).unwrap();
            }
        }
    }
}

#[derive(Default)]
struct State {
    polls: Vec<usize>,
    /// Wakes the front.
    waker: Option<Waker>,
    has_ended: bool,
    blocked: usize,
}

impl Model {
    fn run(batches: Vec<Vec<Item>>, inline: bool, is_watched: bool) -> Arc<Self> {
        let state = State { polls: vec![0; 64], ..State::default() };
        let model = Arc::new(Self {
            queue: RunQueue::new(PARALLELISM, inline),
            front: Mutex::new(None),
            woken: std::sync::Arc::default(),
            state: Mutex::new(state),
            ended: Condvar::new(),
        });
        *model.front.lock().unwrap() = Some(Box::pin(front(Arc::clone(&model), batches)));
        let watching = Arc::clone(&model);
        let watchdog = thread::spawn(move || {
            while is_watched && !watching.state.lock().unwrap().has_ended {
                start(&watching, watching.queue.check_threads());
                thread::yield_now();
            }
        });
        let driving = Arc::clone(&model);
        let driver = thread::spawn(move || match inline {
            true => work(&driving, 0),
            false => driving.drive(false),
        });
        driver.join().unwrap();
        watchdog.join().unwrap();
        model
    }

    /// Drives the front like `Front::drive`, on a runtime that lets one thread in at a time.
    fn drive(&self, inline: bool) {
        self.woken.block_on(|context| {
            self.queue.driver_wakes();
            let mut front = self.front.try_lock().expect("one thread drives the front at a time");
            let Some(future) = front.as_mut() else { return Poll::Ready(()) };
            if self.queue.is_closed() || future.as_mut().poll(context).is_ready() {
                *front = None;
                drop(front);
                self.queue.front_ended();
                self.state.lock().unwrap().has_ended = true;
                self.ended.notify_all();
                return Poll::Ready(());
            }
            drop(front);
            if inline { self.queue.poll_driver(context) } else { Poll::Pending }
        });
    }

    fn note(&self, item: usize) {
        let mut state = self.state.lock().unwrap();
        state.polls[item] += 1;
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Hands over one batch after the other, and waits for the tasks that end, as the shell of a Lambda batch does.
async fn front(model: Arc<Model>, batches: Vec<Vec<Item>>) {
    for batch in batches {
        for item in &batch {
            start(&model, model.queue.push(*item));
        }
        let mut has_waited = false;
        poll_fn(|context| match !std::mem::replace(&mut has_waited, true) && model.queue.awaits_poll() {
            true => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            false => Poll::Ready(()),
        })
        .await;
        poll_fn(|context| {
            let mut state = model.state.lock().unwrap();
            // A waker that is left from before would hide a missing wake-up.
            state.waker = None;
            let is_done = |item: &Item| match *item {
                Item::Quick(id) | Item::Waits(id) => state.polls[id] > 0,
                Item::Blocks => true,
            };
            if batch.iter().all(is_done) {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

fn start(model: &Arc<Model>, start: Start) {
    if let Start::Thread(me) = start {
        let its = Arc::clone(model);
        thread::spawn(move || work(&its, me));
    }
}

fn work(model: &Arc<Model>, me: ThreadId) {
    let mut turns = 0;
    loop {
        // In every third turn, the front goes first, as if it had waited for long.
        turns += 1;
        match model.queue.next(me, turns % 3 == 0) {
            Next::Poll(Item::Quick(id)) => model.note(id),
            Next::Poll(Item::Waits(id)) => {
                let woken = Arc::clone(model);
                thread::spawn(move || start(&woken, woken.queue.push(Item::Quick(id))));
            }
            Next::Poll(Item::Blocks) => {
                let mut state = model.state.lock().unwrap();
                state.blocked += usize::from(!state.has_ended);
                while !state.has_ended {
                    state = model.ended.wait(state).unwrap();
                }
            }
            Next::Drive => {
                start(model, model.queue.ensure_thread());
                model.drive(true);
                continue;
            }
            Next::Drop(_) => continue,
            Next::End => return,
        }
        model.queue.polled(me);
        start(model, model.queue.add_thread());
    }
}

fn all_are_polled_once(batches: &[Vec<Item>], inline: bool, is_watched: bool) {
    let batches = batches.to_vec();
    shuttle::check_random(
        move || {
            let model = Model::run(batches.clone(), inline, is_watched);
            let state = model.state.lock().unwrap();
            for item in batches.iter().flatten() {
                if let Item::Quick(id) | Item::Waits(id) = *item {
                    assert_eq!(state.polls[id], 1, "{item:?}");
                }
            }
        },
        2_000,
    );
}

#[test]
fn tasks_that_do_not_block_are_polled_once() {
    use Item::{Blocks, Quick, Waits};
    let quick = |from: usize| (from..from + 4).map(Quick).collect::<Vec<_>>();
    let batches = [
        vec![Quick(0), Quick(1), Waits(2)],
        vec![],
        quick(10),
        vec![Blocks, Quick(3), Waits(4)],
        quick(20),
        vec![Quick(30)],
        vec![Quick(31)],
        vec![Waits(5), Blocks, Quick(6)],
        quick(40),
    ];
    all_are_polled_once(&batches, true, true);
    all_are_polled_once(&batches, false, true);
}

/// The watchdog would hide a missing wake-up.
#[test]
fn tasks_that_do_not_block_are_polled_without_the_watchdog() {
    use Item::{Quick, Waits};
    let batches =
        [vec![Quick(0), Waits(1), Quick(2)], vec![Waits(3)], vec![Quick(4)], vec![Waits(5), Waits(6)]];
    all_are_polled_once(&batches, true, false);
    all_are_polled_once(&batches, false, false);
}

#[test]
fn the_front_continues_with_more_than_sixteen_blocked_threads() {
    shuttle::check_random(
        || {
            let some = vec![Item::Quick(0), Item::Waits(1)];
            let batches = vec![vec![Item::Blocks; MAX_BLOCKED], some, vec![Item::Blocks; 9], vec![]];
            let model = Model::run(batches, true, true);
            let state = model.state.lock().unwrap();
            assert_eq!((state.polls[0], state.polls[1]), (1, 1));
            // The watchdog needs one or two ticks to find a blocked thread, and two threads may poll until then.
            assert!(state.blocked <= MAX_BLOCKED + 1 + PARALLELISM, "{}", state.blocked);
        },
        100,
    );
}
