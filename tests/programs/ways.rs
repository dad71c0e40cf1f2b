//! A handler that can use its thread in every way, for tests/it/threads.rs. A message names the way and its milliseconds:
//! `block:100`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

use std::fmt;
use std::sync::Mutex;
use std::thread::{park, sleep};
use std::time::{Duration, Instant};

use redrive::{Bodies, Body, BoxError, Consumer, Failure, FromMessage, Record, Text};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

static POISONED: Mutex<u32> = Mutex::new(0);
static CONTENDED: tokio::sync::Mutex<u32> = tokio::sync::Mutex::const_new(0);

/// A body, and whether decoding it was to take for ever.
struct Way(String);

impl FromMessage for Way {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let body = Text::from_message(record)?.0;
        if body == "decoder" {
            for_ever();
        }
        assert_ne!(body, "decoder panics");
        Ok(Self(body))
    }
}

/// Panics for some messages, as a client of a store may.
struct Store;

impl Bodies for Store {
    async fn body(&self, record: &Record<'_>) -> Result<Option<Body>, Failure> {
        assert_ne!(record.body(), "store panics");
        Ok(None)
    }
}

fn for_ever() -> ! {
    loop {
        park();
    }
}

/// Blocks when it is dropped.
struct Clings;

impl Drop for Clings {
    fn drop(&mut self) {
        for_ever();
    }
}

/// Blocks when it is dropped, if so.
struct MayCling(bool);

impl Drop for MayCling {
    fn drop(&mut self) {
        if self.0 {
            for_ever();
        }
    }
}

/// Tells when it is dropped.
struct Tells;

impl Drop for Tells {
    fn drop(&mut self) {
        eprintln!("the handler was dropped");
    }
}

/// Blocks when it is printed.
#[derive(Debug)]
struct Unspoken;

impl fmt::Display for Unspoken {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        for_ever()
    }
}

impl std::error::Error for Unspoken {}

async fn go(way: Way) -> Result<(), Failure> {
    let (what, argument) = way.0.split_once(':').unwrap_or((&way.0, "0"));
    let pause = Duration::from_millis(argument.parse()?);
    match what {
        "ok" => {}
        "where" => println!("{{\"where\":\"{}\"}}", std::thread::current().name().unwrap_or_default()),
        "block" => sleep(pause),
        "forever" => for_ever(),
        "drop" => {
            let _clings = Clings;
            std::future::pending::<()>().await;
        }
        "display" => Err(Unspoken)?,
        "spin" => {
            let began = Instant::now();
            while began.elapsed() < pause {
                std::hint::spin_loop();
            }
        }
        "timer" => tokio::time::sleep(pause).await,
        "late" => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            sleep(pause);
        }
        "pending" => std::future::pending().await,
        "timeout" => {
            let ended = tokio::time::timeout(pause, std::future::pending::<()>()).await;
            assert!(ended.is_err());
        }
        "io" => {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let mut stream = TcpStream::connect(listener.local_addr()?).await?;
            let (mut served, _) = listener.accept().await?;
            tokio::time::sleep(pause).await;
            stream.write_all(b"ping").await?;
            let mut buffer = [0; 4];
            served.read_exact(&mut buffer).await?;
            assert_eq!(&buffer, b"ping");
        }
        "spawn" => {
            let task = tokio::spawn(async move {
                tokio::time::sleep(pause).await;
                7
            });
            assert_eq!(task.await?, 7);
        }
        "spawn_forever" => drop(tokio::spawn(async { for_ever() })),
        "spawn_blocking_forever" => drop(tokio::task::spawn_blocking(|| for_ever())),
        "guarded" => {
            let _tells = Tells;
            std::future::pending::<()>().await;
        }
        "fail" => Err("down")?,
        "outage" => Err(Failure::outage("down"))?,
        "spawn_blocking" => tokio::task::spawn_blocking(move || sleep(pause)).await?,
        "block_in_place" => tokio::task::block_in_place(|| sleep(pause)),
        "nested" => tokio::runtime::Handle::current().block_on(async {}),
        "yield" => {
            for _ in 0..300 {
                tokio::task::yield_now().await;
            }
        }
        // Never waits, but for tokio's budget.
        "greedy" => loop {
            *CONTENDED.lock().await += 1;
        },
        "panic" => panic!("as told"),
        "poison" => {
            let mut sum = POISONED.lock().unwrap();
            assert!(*sum > 0, "the first to come");
            *sum += 1;
        }
        _ => Err("no such way")?,
    }
    Ok(())
}

/// The names of redrive's threads.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    let names = tasks.map(|task| name(task.unwrap()).trim().to_owned());
    names.filter(|name| name.starts_with("redrive")).collect()
}

fn main() -> Result<(), redrive::Error> {
    let mode = std::env::var("MODE").unwrap_or_default();
    let mut builder = match std::env::var("FLAVOR").as_deref() {
        Ok("current_thread") => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build().unwrap();
    let held = MayCling(mode == "drop-blocks");
    if mode == "any-event" {
        let consumer =
            redrive::Consumer::new(go).on_other_event(async |event| Ok::<_, BoxError>(event.into_value()));
        let service = lambda_runtime::service_fn(move |event| {
            let consumer = consumer.clone();
            async move { consumer.handle_any(event).await }
        });
        runtime.block_on(lambda_runtime::run(service)).unwrap();
        return Ok(());
    }
    let handler = move |way| {
        let _held = &held;
        go(way)
    };
    if mode == "drop-run" {
        runtime.block_on(async {
            let _ = tokio::time::timeout(Duration::from_secs(1), redrive::run(handler)).await;
        });
        drop(runtime);
        // Until they have noticed; one may still read certificates.
        let began = Instant::now();
        while !threads().is_empty() && began.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(20));
        }
        eprintln!("threads: {:?}", threads());
        return Ok(());
    }
    runtime.block_on(Consumer::new(handler).bodies(Store).run())
}
