//! A Postgres on a socket below /tmp, as an unprivileged user, and a database in it for each test.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use deadpool_postgres::{Manager, Pool};
use redrive_postgres::Inbox;
use tokio_postgres::{Client, Config, NoTls};

/// Postgres refuses to run as root. `cat` always ends with the tests, because they hold the other end of its pipe.
const SCRIPT: &str = r#"
cd /
trap '' HUP INT TERM
if [ "$(id -u)" = 0 ]; then as='setpriv --reuid=65534 --regid=65534 --clear-groups'; fi
folder=$($as mktemp -d /tmp/redrive-postgres.XXXXXX) || exit
run() { $as "$@" >>"$folder/out" 2>&1; }
options="-c listen_addresses= -k $folder -c fsync=off -c max_connections=300"
if
  run "$1/initdb" --pgdata "$folder/data" --username postgres --auth trust --encoding UTF8 --no-locale --no-sync &&
  run "$1/pg_ctl" --pgdata "$folder/data" --log "$folder/log" --options "$options" --wait --timeout 60 start
then
  echo "$folder"
  cat
  run "$1/pg_ctl" --pgdata "$folder/data" --mode immediate stop
else
  cat "$folder/out" "$folder/log" >&2
fi
rm -rf "$folder"
"#;

/// Never dropped, so that it lasts as long as the process.
struct Server {
    folder: PathBuf,
    _script: Child,
}

static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| {
    let Some(programs) = programs() else {
        // Written directly, so that the test harness does not capture it.
        let line = "skipped: the tests of redrive-postgres, since no Postgres server is installed\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    };
    let mut script = Command::new("sh");
    script.args(["-c", SCRIPT, "sh"]).arg(programs).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = script.spawn().unwrap();
    let mut folder = String::new();
    BufReader::new(script.stdout.take().unwrap()).read_line(&mut folder).unwrap();
    assert!(!folder.is_empty(), "the server did not start; what it wrote is above");
    Some(Server { folder: folder.trim_end().into(), _script: script })
});

/// Returns the folder of a server's programs. Debian does not put them into PATH.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let debian = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    std::env::split_paths(&path).chain(debian).find(|folder| folder.join("initdb").exists())
}

/// A test's own database.
#[derive(Clone)]
pub(crate) struct Database {
    name: String,
    pub(crate) socket: PathBuf,
}

impl Database {
    /// Creates a database without tables, or returns `None` if no server is installed.
    pub(crate) async fn empty() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let folder = &SERVER.as_ref()?.folder;
        let at = |name: String| Self { name, socket: folder.join(".s.PGSQL.5432") };
        let database = at(format!("test_{}", NUMBER.fetch_add(1, Ordering::SeqCst)));
        let create = format!("CREATE DATABASE {}", database.name);
        at("postgres".to_owned()).connect().await.batch_execute(&create).await.unwrap();
        Some(database)
    }

    /// Creates a database with the table of the inbox, and one that counts effects.
    pub(crate) async fn new() -> Option<Self> {
        let database = Self::empty().await?;
        let client = database.connect().await;
        Inbox::migrate(&client).await.unwrap();
        client.batch_execute("CREATE TABLE effects (key text)").await.unwrap();
        Some(database)
    }

    fn folder(&self) -> &Path {
        self.socket.parent().unwrap()
    }

    /// Returns settings with which a query that hangs soon fails.
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(self.folder()).user("postgres").dbname(&self.name);
        config.options("-c statement_timeout=20s");
        config
    }

    pub(crate) fn url(&self) -> String {
        let folder = self.folder().display().to_string().replace('/', "%2F");
        format!("postgresql://postgres@{folder}/{}?options=-c%20statement_timeout%3D20s", self.name)
    }

    pub(crate) async fn connect(&self) -> Client {
        connect(&self.config()).await
    }

    /// Returns a pool of one connection, so that the next query runs after a rollback that nobody awaits.
    pub(crate) fn pool_of_one(&self) -> Pool {
        Pool::builder(Manager::new(self.config(), NoTls)).max_size(1).build().unwrap()
    }

    pub(crate) async fn effects(&self) -> i64 {
        self.count("SELECT count(*) FROM effects").await
    }

    pub(crate) async fn count(&self, query: &str) -> i64 {
        self.connect().await.query_one(query, &[]).await.unwrap().get(0)
    }
}

pub(crate) async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    // The connection ends with the client, or with an error that the client's next query returns too.
    tokio::spawn(async { connection.await.unwrap_or_default() });
    client
}
