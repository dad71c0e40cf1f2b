//! A worker's process and its output.

use std::fs::{self, DirEntry};
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::support::function::{PATIENCE, command, environment, example};

pub(super) struct Running {
    child: Child,
    lines: watch::Receiver<Vec<Line>>,
    stderr: JoinHandle<String>,
}

/// What it has written to stdout, and when it was read.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) at: Instant,
}

/// How it ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stderr: String,
    pub(super) lines: Vec<Line>,
    /// The wait for its end.
    pub(super) took: Duration,
}

impl Running {
    /// The program that obeys its messages.
    pub(super) fn start(endpoint: &str, queue_url: &str, variables: &[(&str, &str)]) -> Self {
        let own = [("AWS_ENDPOINT_URL", endpoint), ("REDRIVE_QUEUE_URL", queue_url)];
        Self::start_with(&[&own, variables].concat(), &[])
    }

    /// With these variables, and without those.
    pub(super) fn start_with(variables: &[(&str, &str)], without: &[&str]) -> Self {
        Self::spawn(&example("worker_ways"), variables, without)
    }

    fn spawn(path: &Path, variables: &[(&str, &str)], without: &[&str]) -> Self {
        let mut environment = environment(variables);
        let lambda: Vec<_> =
            environment.keys().filter(|name| name.starts_with("AWS_LAMBDA_")).cloned().collect();
        lambda
            .iter()
            .map(String::as_str)
            .chain(without.iter().copied())
            .for_each(|name| drop(environment.remove(name)));
        let mut child = command(path, &environment).spawn().unwrap();
        let (writing, lines) = watch::channel(Vec::new());
        let stdout = child.stdout.take().unwrap();
        tokio::spawn(async move {
            let mut read = BufReader::new(stdout).lines();
            while let Some(text) = read.next_line().await.unwrap() {
                writing.send_modify(|lines: &mut Vec<Line>| lines.push(Line { text, at: Instant::now() }));
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let stderr = tokio::spawn(async move {
            let mut written = String::new();
            stderr.read_to_string(&mut written).await.unwrap();
            written
        });
        Self { child, lines, stderr }
    }

    /// Waits until so many lines have these words.
    pub(super) async fn says(&mut self, words: &str, count: usize) {
        let said = self.lines.wait_for(|lines| count_of(lines, words) >= count);
        let found = timeout(PATIENCE, said).await.is_ok_and(|said| said.is_ok());
        assert!(found, "it never says {words:?} {count} times: {:#?}", self.lines.borrow());
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        self.lines.borrow().clone()
    }

    pub(super) fn signal(&self, signal: &str) {
        let process = self.child.id().expect("it runs").to_string();
        assert!(std::process::Command::new("kill").args([signal, &process]).status().unwrap().success());
    }

    /// Waits until its threads sleep, so that no handler is within a poll. Without `/proc`, nobody knows, and it waits for a while.
    pub(super) async fn until_it_sleeps(&self) {
        let tasks = format!("/proc/{}/task", self.child.id().expect("it runs"));
        let sleeps = |task: std::io::Result<DirEntry>| {
            let state = fs::read_to_string(task.unwrap().path().join("stat"));
            state.is_ok_and(|text| text.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S')))
        };
        let began = Instant::now();
        while fs::read_dir(&tasks).is_ok_and(|mut tasks| !tasks.all(sleeps)) {
            assert!(began.elapsed() < PATIENCE, "it never sleeps");
            sleep(Duration::from_millis(5)).await;
        }
        if fs::metadata(&tasks).is_err() {
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Waits for its end.
    pub(super) async fn ended(mut self) -> Ended {
        let began = Instant::now();
        let status = timeout(PATIENCE, self.child.wait()).await;
        let status =
            status.unwrap_or_else(|_| panic!("it does not end: {:#?}", self.lines.borrow())).unwrap();
        let took = began.elapsed();
        // Until the last line is read.
        while self.lines.changed().await.is_ok() {}
        let lines = self.lines.borrow().clone();
        Ended { code: status.code(), stderr: self.stderr.await.unwrap(), lines, took }
    }

    /// Tells it to end, and waits for that.
    pub(super) async fn stop(self) -> Ended {
        self.signal("-TERM");
        self.ended().await
    }
}

impl Ended {
    /// All that was in hand was settled.
    pub(super) fn is_good(&self) -> &Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{:#?}", self.lines);
        self
    }

    /// Exit code 1, and this line on stderr.
    pub(super) fn says(&self, error: &str) -> &Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(1), format!("Error: {error}\n").as_str()));
        self
    }

    /// The same after lines about panics.
    pub(super) fn says_last(&self, error: &str) -> &Self {
        let last = self.stderr.lines().last().map(str::to_owned);
        assert_eq!((self.code, last), (Some(1), Some(format!("Error: {error}"))));
        self
    }

    pub(super) fn count(&self, words: &str) -> usize {
        count_of(&self.lines, words)
    }
}

pub(super) fn count_of(lines: &[Line], words: &str) -> usize {
    lines.iter().filter(|line| line.text.contains(words)).count()
}
