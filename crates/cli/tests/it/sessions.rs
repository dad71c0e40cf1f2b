//! Runs the sessions of `sessions/*.txt` with the real command, and compares everything that it prints.
//! `UPDATE=1 cargo test --workspace --test command sessions` writes the answers. Without `UPDATE` they are compared.
//!
//! `== ` begins a session in its own folder. Its second line may name an AWS, by default with the queues `orders` and
//! `orders-dead`. `$ ` begins a command, and `< ` a line of its stdin. The other lines are events that happen before, by
//! [`Stage::step`]. A command is followed by its stdout after `>`, its stderr after `!`, its exit code after `=` unless it is 0,
//! the calls that change something with their entries, and the numbers of messages in the queues, if they changed. A session
//! ends with the bodies in the queues.
//! `ID-1` is the first id that was shown, also in what is typed. Times since the session began are `NOW`, ages below a minute `0s`.

use std::ops::Range;
use std::process::Stdio;
use std::time::SystemTime;
use std::{env, fs, thread};

use tempfile::TempDir;

use crate::dlq_retry::letters::{arrived, note_of, write, write_in_group};
use crate::doctor_corpus::changed;
use crate::letters::text;
use crate::proxy::{Call, Fate, Proxy};
use crate::support::running::{built, root};
use crate::support::{Aws, REGION, Ran, Words, command};

const FOLDER: &str = "crates/cli/tests/it/sessions";

macro_rules! sessions {
    ($($name:ident),*) => { $(#[test] fn $name() { play(concat!(stringify!($name), ".txt")); })* };
}

sessions!(copies, faults, fifo, journal, letters, messages, mistakes, queues, templates);

#[test]
fn there_are_forty_mistakes_and_each_verb_has_one() {
    let text = fs::read_to_string(root().join(FOLDER).join("mistakes.txt")).expect("it is there");
    let typed = || text.lines().filter_map(|line| line.strip_prefix("$ "));
    assert!(typed().count() >= 40);
    let of_dlq = ["list", "show", "export", "import", "triage", "retry", "delete", "purge"]
        .map(|verb| format!("dlq {verb}"));
    let of_queue = ["status", "pause", "resume", "attach", "detach"].map(|verb| format!("queue {verb}"));
    for verb in ["local", "doctor", "schedule", "plan", "send"]
        .map(str::to_owned)
        .iter()
        .chain(&of_dlq)
        .chain(&of_queue)
    {
        assert!(typed().any(|line| line.starts_with(&format!("redrive {verb}"))), "{verb}");
    }
}

fn play(file: &str) {
    let path = root().join(FOLDER).join(file);
    let text = fs::read_to_string(&path).expect("it is there");
    let sessions: Vec<&str> = text.trim_end().split("\n\n").collect();
    // They wait most of the time.
    let played: Vec<String> = thread::scope(|scope| {
        let shares = sessions.chunks(sessions.len().div_ceil(4));
        let play = |session: &&str| Stage::new(session).play(session).join("\n");
        let shares: Vec<_> =
            shares.map(|share| scope.spawn(move || share.iter().map(play).collect::<Vec<_>>())).collect();
        shares.into_iter().flat_map(|share| share.join().expect("no panic")).collect()
    });
    if env::var_os("UPDATE").is_some() {
        return fs::write(path, played.join("\n\n") + "\n").expect("it is ours");
    }
    for (expected, played) in sessions.iter().zip(&played) {
        let heading = expected.lines().next().unwrap_or_default();
        let (expected, played): (Vec<_>, Vec<_>) = (expected.lines().collect(), played.lines().collect());
        assert_eq!(expected, played, "{file}: {heading}; UPDATE=1 accepts it");
    }
}

/// Whether the machine writes this line.
fn is_answer(line: &str) -> bool {
    let marks = [">", "!", "= ", "in "];
    marks.iter().any(|mark| line.starts_with(mark))
}

struct Stage {
    aws: Option<Aws>,
    folder: TempDir,
    /// Of the next command.
    faults: Vec<Fault>,
    unset: Vec<String>,
    /// In the order in which they were shown.
    ids: Vec<String>,
    /// Where its commands found AWS.
    urls: Vec<String>,
    began: String,
}

impl Stage {
    fn new(session: &str) -> Self {
        let aws = match session.lines().nth(1) {
            Some("without aws") => None,
            Some("fifo") => Some(Aws::with_orders(true)),
            Some("shop") => Some(Aws::with_shop(true)),
            Some("no queues") => Some(Aws::start(vec![])),
            _ => Some(Aws::with_orders(false)),
        };
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let began = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Self { aws, folder, faults: vec![], unset: vec![], ids: vec![], urls: vec![], began }
    }

    /// The session with its answers.
    fn play(mut self, session: &str) -> Vec<String> {
        let typed: Vec<&str> = session.lines().filter(|line| !is_answer(line)).collect();
        let (mut lines, mut rest) = (Vec::new(), &typed[..]);
        while let [line, below @ ..] = rest {
            let own =
                below.iter().take_while(|line| line.starts_with(['<', '|', ' ', '-', '+', '@'])).count();
            let (below, behind) = below.split_at(own);
            lines.extend([line].into_iter().chain(below).map(|line| (*line).to_owned()));
            match line.strip_prefix("$ ") {
                Some(typed) => lines.extend(self.answer(typed, below)),
                None if line.starts_with(['=', '#']) => (),
                None => self.step(line, below),
            }
            rest = behind;
        }
        lines.extend(self.ends());
        lines
    }

    fn step(&mut self, line: &str, below: &[&str]) {
        let words = line.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let number = |text: &str| text.parse().expect("a number");
        match &words[..] {
            ["without", "aws"] | ["fifo" | "shop"] | ["no", "queues"] => (),
            ["queue", name, attributes @ ..] => {
                let create = self.aws().sqs.create_queue().queue_name(*name);
                let create = attributes.iter().fold(create, |create, attribute| {
                    let (name, value) = attribute.split_once('=').expect("NAME=VALUE");
                    create.attributes(name.into(), value)
                });
                self.aws().wait(create.send()).expect("it is made");
            }
            // With bodies `0`, `1`, ..., messages `m0`, `m1`, ... and reasons in turn.
            ["letters", count, reasons @ ..] => write(self.aws(), number(count), reasons),
            // With their bodies, of which the first letter is the group, and `panic` or another reason.
            ["group", letters @ ..] => letters.iter().for_each(|letter| {
                let (body, reason) = letter.split_once('=').unwrap_or((letter, "panic"));
                write_in_group(self.aws(), &body[..1], body, reason);
            }),
            ["letter", body, message, reason, attributes @ ..] => {
                self.letter(body, message, reason, attributes)
            }
            ["large", bytes] => drop(self.aws().letter(&"x".repeat(number(bytes)))),
            ["send", queue, body] => drop(self.aws().send(queue, body)),
            // Ten of them, and hides them.
            ["receive", queue, "for", seconds] => {
                let receive = self.aws().sqs.receive_message().queue_url(self.aws().queue_url(queue));
                let receive =
                    receive.max_number_of_messages(10).visibility_timeout(seconds.parse().expect("seconds"));
                self.aws().wait(receive.send()).expect("it is received from");
            }
            // Its redrive policy moves what is in it.
            ["fails", queue] => (0..4).for_each(|_| self.step(&format!("receive {queue} for 0"), &[])),
            ["skip", seconds] => self.aws().skip(seconds.parse().expect("seconds")),
            ["lines", count, "in", name] => {
                let lines = (0..number(count)).map(|number| format!("{{\"body\": {number}}}\n"));
                self.write(name, &lines.collect::<String>());
            }
            ["file", name] => {
                let lines =
                    below.iter().map(|line| format!("{}\n", line.strip_prefix("| ").unwrap_or_default()));
                self.write(name, &lines.collect::<String>());
            }
            // Of the repository or of this folder, with changed lines, as in `doctor/corpus/cases.txt`.
            ["file", name, "of", path] => {
                let own = fs::read_to_string(self.folder.path().join(path));
                let text = own.or_else(|_| fs::read_to_string(root().join(path))).expect("it is there");
                self.write(name, &changed(&text, below, name));
            }
            ["folder", name] => fs::create_dir(self.folder.path().join(name)).expect("the folder is ours"),
            ["unset", names @ ..] => self.unset.extend(names.iter().map(|name| (*name).to_owned())),
            // Such calls of the next command go wrong: the first so many, those from one on, or all.
            ["fault", action, "first", count, fate @ ..] => self.fault(action, 0..number(count), fate),
            ["fault", action, "from", count, fate @ ..] => {
                self.fault(action, number(count)..usize::MAX, fate)
            }
            ["fault", action, fate @ ..] => self.fault(action, 0..usize::MAX, fate),
            _ => panic!("no such step: {line}"),
        }
    }

    fn aws(&self) -> &Aws {
        self.aws.as_ref().expect("the session has one")
    }

    /// A letter with a note unless its message is `-`; `of=QUEUE`, `group=` and `deduplication=` are no attributes.
    fn letter(&self, body: &str, message: &str, reason: &str, attributes: &[&str]) {
        let named: Vec<_> = attributes.iter().filter_map(|attribute| attribute.split_once('=')).collect();
        let own =
            |name: &str| named.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        let end = if own("group").is_some() { ".fifo" } else { "" };
        let send =
            self.aws().sqs.send_message().queue_url(self.aws().queue_url(&format!("orders-dead{end}")));
        let send = send.message_body(body).set_message_group_id(own("group"));
        let mut send = send.set_message_deduplication_id(own("deduplication"));
        if message != "-" {
            let queue = own("of").unwrap_or(format!("orders{end}"));
            send = send.message_attributes("redrive.dead-letter", note_of(&queue, message, reason));
        }
        for (name, value) in named.iter().filter(|(name, _)| !["of", "group", "deduplication"].contains(name))
        {
            send = send.message_attributes(*name, text(value));
        }
        self.aws().wait(send.send()).expect("it is sent");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is ours");
        fs::write(path, text).expect("the folder is ours");
    }

    fn fault(&mut self, action: &str, calls: Range<usize>, fate: &[&str]) {
        let fate = fate.iter().map(|word| -> &'static str { (*word).to_owned().leak() }).collect();
        self.faults.push(Fault { action: action.to_owned(), calls, fate });
    }

    /// Runs a command and shows all that comes of it.
    fn answer(&mut self, typed: &str, stdin: &[&str]) -> Vec<String> {
        let (before, faults) = (self.counted(), std::mem::take(&mut self.faults));
        let proxy = self.aws.as_ref().map(|aws| {
            let fate = move |call: &Call, before| faults.iter().find_map(|fault| fault.fate(call, before));
            Proxy::start(&aws.url, move |call, before| fate(call, before).unwrap_or(Fate::Answered))
        });
        let url = proxy.as_ref().map(|proxy| &*proxy.url);
        self.urls.extend(url.map(str::to_owned));
        let stdin: Vec<_> = stdin.iter().map(|line| self.with_ids(line)).collect();
        let ran = self.run(&self.with_ids(typed), &stdin, url);
        self.unset.clear();
        let mut shown: Vec<String> = Vec::new();
        for (mark, text) in [('>', &ran.stdout), ('!', &ran.stderr)] {
            let text = self.without_what_changes(text);
            let text = if mark == '>' && typed.contains(" dlq ") { without_ages(&text) } else { text };
            shown.extend(text.lines().map(|line| format!("{mark} {line}").trim_end().to_owned()));
        }
        let code = if ran.code == 0 { String::new() } else { format!("exit code {}", ran.code) };
        let calls = proxy.map(|proxy| proxy.calls()).unwrap_or_default();
        let calls: Vec<_> = calls.iter().filter(|call| is_changing(&call.action)).map(told).collect();
        let counts = Some(self.counted()).filter(|counts| *counts != before).unwrap_or_default();
        let rest = [code, calls.join(", "), counts];
        let rest: Vec<&str> = rest.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        shown.extend((!rest.is_empty()).then(|| format!("= {}", rest.join("; "))));
        shown
    }

    /// The command, or a function as Lambda starts it, with variables before it.
    fn run(&self, typed: &str, stdin: &[String], url: Option<&str>) -> Ran {
        let words = typed.words();
        let is_variable = |word: &&String| {
            word.split_once('=')
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        };
        let variables: Vec<_> =
            words.iter().take_while(is_variable).filter_map(|word| word.split_once('=')).collect();
        let (program, arguments) = words[variables.len()..].split_first().expect("a command");
        if program != "redrive" {
            let mut function = std::process::Command::new(built(program));
            function.env_clear().stdin(Stdio::null()).env("AWS_LAMBDA_FUNCTION_NAME", "shop-orders");
            function.envs([
                ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
                ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
            ]);
            function
                .envs([("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1"), ("AWS_REGION", REGION)])
                .envs(variables);
            return Ran::new(&function.output().expect("it runs"));
        }
        let stdin = stdin.iter().map(|line| format!("{}\n", line.strip_prefix("< ").unwrap_or_default()));
        let mut command = command(arguments);
        command.current_dir(self.folder.path()).env_remove("VISUAL").env_remove("EDITOR");
        command.envs(url.map(|url| ("AWS_ENDPOINT_URL", url))).env("AWS_REGION", REGION).envs(variables);
        for name in &self.unset {
            command.env_remove(name);
        }
        Ran::of(command.write_stdin(stdin.collect::<String>()))
    }

    /// What is typed, with the ids that it stands for.
    fn with_ids(&self, line: &str) -> String {
        let ids = self.ids.iter().enumerate().rev();
        ids.fold(line.to_owned(), |line, (number, id)| line.replace(&format!("ID-{}", number + 1), id))
    }

    /// With ids by the order in which they were shown, and nothing of this machine.
    fn without_what_changes(&mut self, text: &str) -> String {
        let text = text.replace(&format!("{}/", self.folder.path().display()), "");
        let text = self.urls.iter().fold(text, |text, url| text.replace(url, "http://127.0.0.1:9324"));
        let is_now = |word: &&str| word.len() >= 20 && word.ends_with('Z') && word[..19] >= self.began[..19];
        let words = text.split(|c: char| !c.is_ascii_digit() && !"-:.TZ".contains(c));
        let words = words.map(|word| word.trim_end_matches(':')).filter(is_now);
        let text = words.fold(text.clone(), |text, time| text.replace(time, "NOW"));
        let is_id = |word: &&str| word.len() == 36 && word.matches('-').count() == 4;
        let words = text.split(|c: char| c != '-' && !c.is_ascii_hexdigit()).filter(is_id);
        for id in words.map(str::to_owned) {
            if !self.ids.contains(&id) {
                self.ids.push(id);
            }
        }
        let ids = self.ids.iter().enumerate();
        ids.fold(text.clone(), |text, (number, id)| text.replace(id, &format!("ID-{}", number + 1)))
    }

    fn queues(&self) -> Vec<String> {
        let Some(aws) = &self.aws else { return vec![] };
        let urls =
            aws.wait(aws.sqs.list_queues().send()).expect("they are listed").queue_urls.unwrap_or_default();
        let mut names: Vec<_> =
            urls.iter().filter_map(|url| url.rsplit('/').next()).map(str::to_owned).collect();
        names.sort();
        names
    }

    /// How many messages are where, and how many of them in flight.
    fn counted(&self) -> String {
        let queues = self.queues();
        let count = |name: &String| match self.aws().counts(name) {
            (visible, 0) => format!("{name} {visible}"),
            (visible, hidden) => format!("{name} {visible} and {hidden} in flight"),
        };
        queues.iter().map(count).collect::<Vec<_>>().join(", ")
    }

    /// What is visible in each queue; of a standard queue, in no order.
    fn ends(&self) -> Option<String> {
        let mut ends = Vec::new();
        for name in self.queues() {
            let mut bodies = arrived(self.aws(), &name);
            if !name.ends_with(".fifo") {
                bodies.sort_by_key(|body| (body.len(), body.clone()));
            }
            let bodies: Vec<String> = bodies.iter().map(|body| body.chars().take(40).collect()).collect();
            ends.extend((!bodies.is_empty()).then(|| format!("{name}: {}", bodies.join(", "))));
        }
        (!ends.is_empty()).then(|| format!("in {}", ends.join("; ")))
    }
}

/// With `0s` for ages below a minute, as wide as they were.
fn without_ages(text: &str) -> String {
    let is_age = |word: &str| {
        word.strip_suffix('s').is_some_and(|age| matches!(age.len(), 1 | 2) && age.parse::<u8>().is_ok())
    };
    let words = text.split_inclusive([' ', '\n']).map(|word| match word.trim_end() {
        age if is_age(age) => word.replace(age, &format!("{:>1$}", "0s", age.len())),
        _ => word.to_owned(),
    });
    words.collect()
}

fn is_changing(action: &str) -> bool {
    let verbs = ["Send", "Delete", "Purge", "Create", "Set", "Start", "Cancel", "PUT"];
    verbs.iter().any(|verb| action.starts_with(verb))
}

fn told(call: &Call) -> String {
    let action = call.action.split(' ').next().unwrap_or_default();
    if call.entries() == 0 { action.to_owned() } else { format!("{action} {}", call.entries()) }
}

#[derive(Debug)]
struct Fault {
    action: String,
    calls: Range<usize>,
    fate: Vec<&'static str>,
}

impl Fault {
    fn fate(&self, call: &Call, before: usize) -> Option<Fate> {
        if !call.action.contains(&self.action) || !self.calls.contains(&before) {
            return None;
        }
        Some(match self.fate[..] {
            ["lost"] => Fate::AnswerLost,
            ["refused", status, code] => Fate::Refused(status.parse().expect("a status"), code),
            // For the sake of entries whose bodies begin so.
            ["refused", "for", body, code] => {
                (!places(call, body).is_empty()).then_some(Fate::Refused(400, code))?
            }
            ["fails", entries, code] => Fate::EntriesFail(places(call, entries), code),
            ["leaves-out", entries] => Fate::EntriesUnmentioned(places(call, entries)),
            [code, message] => Fate::Says(code, message),
            ref other => panic!("no such fate: {other:?}"),
        })
    }
}

/// Entries by their numbers behind `#`, or by how their bodies begin.
fn places(call: &Call, entries: &str) -> Vec<usize> {
    if let Some(numbers) = entries.strip_prefix('#') {
        return numbers.split(',').map(|number| number.parse().expect("a number")).collect();
    }
    let all = call.input["Entries"].as_array().into_iter().flatten().enumerate();
    let begins = |body: &serde_json::Value| body.as_str().is_some_and(|body| body.starts_with(entries));
    all.filter(|(_, entry)| begins(&entry["MessageBody"])).map(|(place, _)| place).collect()
}
