//! Starts several accounts with dead-letter queues full of letters, to try the console and `redrive fleet`:
//!
//! ```text
//! cargo run --locked -p redrive-local --example accounts FOLDER ACCOUNTS QUEUES LETTERS
//! ```
//!
//! Writes the file `config` with a profile for each account (`account1` and so on) into the folder, prints `ready`, and ends
//! when its standard input does. Each account has `QUEUES` dead-letter queues. The letters are spread over all of them, with
//! one exception: `orders-dead` of the first account has 5,012, and 834 of these are of the tenant `acme` and timed out. A
//! disabled mapping leads from `orders` to the function `shop-orders`.

#![allow(clippy::disallowed_methods, reason = "letters that failed a while ago")]

use std::error::Error;
use std::fmt::Write;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use std::{env, fs};

use redrive_local::{
    Config, FunctionConfig, Local, MappingConfig, MessageAttribute, NewMessage, QueueConfig,
};
use serde_json::json;

const REGION: &str = "eu-west-1";
const FUNCTION: &str = "shop-orders";
const LARGE: usize = 5_012;
const MEANT: usize = 834;
const ERRORS: [(&str, &str); 6] = [
    ("failed", "the card of order A-{n} was declined"),
    ("failed", "timeout after {n} ms: https://payments.example"),
    ("malformed", "missing field `order_id` at line 1 column {n}"),
    ("panic", "index out of bounds: the len is 3 but the index is {n}"),
    ("timeout", "the handler took longer than 30 s"),
    ("failed", "no connection to the database: pool timed out"),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let folder: PathBuf = arguments.next().ok_or("FOLDER is missing")?.into();
    let mut number = |name: &str| -> Result<usize, Box<dyn Error>> {
        Ok(arguments.next().ok_or_else(|| format!("{name} is missing"))?.parse()?)
    };
    let (accounts, queues, letters) = (number("ACCOUNTS")?, number("QUEUES")?, number("LETTERS")?);
    let (mut running, mut profiles) = (vec![], String::new());
    for at in 1..=accounts {
        let account = at.to_string().repeat(12)[..12].to_owned();
        let names: Vec<String> = (0..queues).map(|queue| name(at, queue)).collect();
        let mut local = Local::start(Config {
            region: REGION.to_owned(),
            queues: names.iter().flat_map(|name| pair(name, &account)).collect(),
            account: account.clone(),
            functions: vec![function()?],
            mappings: (at == 1).then(mapping).into_iter().collect(),
            ..Config::default()
        })
        .await?;
        drop(local.take_events());
        let control = local.control();
        for (queue, name) in names.iter().enumerate() {
            let is_large = at == 1 && queue == 0;
            let count =
                if is_large { LARGE.min(letters) } else { share(letters, queue + at, accounts * queues) };
            for letter in 0..count {
                let is_meant = is_large && letter * MEANT / LARGE != (letter + 1) * MEANT / LARGE;
                control.send(&format!("{name}-dead"), message(&arn(name, &account), letter, is_meant))?;
            }
        }
        let _ = write!(
            profiles,
            "[profile account{at}]\nregion = {REGION}\nendpoint_url = {}\n",
            local.endpoint_url()
        );
        running.push(local);
    }
    fs::write(folder.join("config"), profiles)?;
    println!("ready");
    io::stdin().read_to_end(&mut vec![])?;
    for local in running {
        local.stop().await;
    }
    Ok(())
}

/// Returns a function that is never invoked.
fn function() -> io::Result<FunctionConfig> {
    let (name, command) = (FUNCTION.to_owned(), env::current_exe()?);
    Ok(FunctionConfig { name, command, ..FunctionConfig::default() })
}

fn mapping() -> MappingConfig {
    let (queue, function) = ("orders".to_owned(), FUNCTION.to_owned());
    MappingConfig { queue, function, enabled: false, ..MappingConfig::default() }
}

fn name(account: usize, queue: usize) -> String {
    match (account, queue) {
        (1, 0) => "orders".to_owned(),
        _ => format!("{}-{queue:02}", ["invoices", "emails", "shipments", "reports", "refunds"][queue % 5]),
    }
}

/// Returns the number of letters of a queue: some have many, some none.
fn share(letters: usize, queue: usize, queues: usize) -> usize {
    match queue % 4 {
        0 => 0,
        1 => 2 * letters / queues,
        _ => letters / queues,
    }
}

fn arn(queue: &str, account: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{account}:{queue}")
}

fn pair(name: &str, account: &str) -> [QueueConfig; 2] {
    let dead = format!("{name}-dead");
    let policy = json!({ "deadLetterTargetArn": arn(&dead, account), "maxReceiveCount": 3 }).to_string();
    let attributes = |name: &str, value: String| [(name.to_owned(), value)].into();
    [
        QueueConfig { name: dead, attributes: attributes("MessageRetentionPeriod", "1209600".to_owned()) },
        QueueConfig { name: name.to_owned(), attributes: attributes("RedrivePolicy", policy) },
    ]
}

fn message(source: &str, letter: usize, is_meant: bool) -> NewMessage {
    let tenants = ["globex", "initech", "umbrella"];
    let (tenant, error) = match is_meant {
        true => ("acme", 1),
        // None of the tenant's other letters timed out.
        false if letter.is_multiple_of(11) => ("acme", [0, 2, 3][letter / 11 % 3]),
        false => (tenants[letter % 3], (source.len() + letter / 7) % ERRORS.len()),
    };
    let (reason, error) = ERRORS[error];
    let failed_at = SystemTime::now() - Duration::from_secs(60 * (letter as u64 * 7 % 500));
    let note = json!({
        "reason": reason, "error": error.replace("{n}", &(letter * 37 % 9_000).to_string()),
        "exception": "orders::Error", "failed_at": humantime::format_rfc3339_seconds(failed_at).to_string(), "attempts": 3,
        "message_id": format!("00000000-0000-4000-8000-{letter:012}"), "source": source, "function": FUNCTION,
    });
    let body = json!({ "order_id": format!("A-{letter}"), "tenant": tenant, "cents": letter * 13 % 9_999 });
    let attributes = [("redrive.dead-letter".to_owned(), MessageAttribute::text(&note.to_string()))];
    NewMessage { body: body.to_string(), attributes: attributes.into(), ..NewMessage::default() }
}
