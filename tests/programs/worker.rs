//! A worker that follows the instructions in its messages, for tests/it/worker. A body is a name and ways, such as
//! `tea sleep:100 fail@1`: `@1` is for the first attempt only.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the environment")]

use std::sync::LazyLock;
use std::time::Duration;

use redrive::{BoxError, Bulk, Consumer, Consumers, Failure, FromMessage, Record};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::Barrier;

/// A message is through once so many wait here: never, if they have to wait for each other.
const MEETING: usize = 4;
static MET: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(MEETING));

struct Told {
    name: String,
    ways: Vec<String>,
}

impl FromMessage for Told {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let mut words = record.body().split_whitespace();
        let name = words.next().unwrap_or_default().to_owned();
        let attempt = record.attempt().to_string();
        let now = |way: &str| match way.split_once('@') {
            Some((way, at)) => (at == attempt).then(|| way.to_owned()),
            None => Some(way.to_owned()),
        };
        Ok(Self { name, ways: words.filter_map(now).collect() })
    }
}

async fn obey(told: Told) -> Result<(), Failure> {
    let Told { name, ways } = told;
    println!("began:{name}");
    for way in &ways {
        let (way, pause) = way.split_once(':').unwrap_or((way, "0"));
        let pause = Duration::from_millis(pause.parse()?);
        match way {
            "sleep" => tokio::time::sleep(pause).await,
            "block" => std::thread::sleep(pause),
            "hear" => {
                let mut stream = TcpStream::connect(("127.0.0.1", pause.as_millis() as u16)).await?;
                stream.read_u8().await?;
            }
            "meet" => {
                MET.wait().await;
            }
            "fail" => Err("down")?,
            "reject" => Err(Failure::reject("refused"))?,
            "panic" => panic!("as told"),
            _ => Err("no such way")?,
        }
    }
    println!("ended:{name}");
    Ok(())
}

/// Those that fail do so alone.
async fn obey_all(bulk: Bulk<Told>) -> Result<(), Failure> {
    let (mut names, mut longest) = (Vec::new(), 0);
    for item in bulk {
        names.push(item.name.clone());
        let naps = item.ways.iter().filter_map(|way| way.strip_prefix("sleep:")?.parse().ok());
        longest = naps.fold(longest, u64::max);
        if item.ways.iter().any(|way| way == "fail") {
            item.fail("down");
        }
    }
    tokio::time::sleep(Duration::from_millis(longest)).await;
    println!("called {}", names.join(" "));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    match std::env::var("MODE").as_deref() {
        Ok("bulk") => Consumer::new(obey_all).run().await,
        Ok("twice") => {
            Consumer::new(obey).run().await?;
            Consumer::new(obey).run().await
        }
        Ok("beside its dead letters") => {
            let url = std::env::var("REDRIVE_QUEUE_URL").unwrap();
            let consumer = || Consumer::new(obey).workers(Handle::current());
            Consumers::new().add(format!("{url}-dead"), consumer()).add(url, consumer()).work().await
        }
        _ => Consumer::new(obey).run().await,
    }
}
