//! A mistake, and the stage on which it is made.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::Command as Redrive;
use tempfile::TempDir;

use super::templates::TEMPLATE;
use crate::support::running::built;
use crate::support::{Aws, REGION, Ran, command};

/// What somebody typed, and what was different from the usual.
#[derive(Debug, Clone, Default)]
pub(super) struct Mistake {
    pub(super) typed: &'static str,
    /// A file of the folder with its content.
    file: Option<(&'static str, &'static str)>,
    /// A part of the template, and what stands there instead.
    template: Option<(&'static str, &'static str)>,
    variables: Vec<(&'static str, &'static str)>,
    without: Vec<&'static str>,
    /// What is missing then, in words.
    situation: &'static str,
    /// The code of the finding that counts.
    finding: &'static str,
}

pub(super) fn typed(typed: &'static str) -> Mistake {
    Mistake { typed, ..Mistake::default() }
}

impl Mistake {
    pub(super) fn file(self, name: &'static str, content: &'static str) -> Self {
        Self { file: Some((name, content)), ..self }
    }

    pub(super) fn template(self, usual: &'static str, instead: &'static str) -> Self {
        Self { template: Some((usual, instead)), ..self }
    }

    pub(super) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Without a variable that the others have.
    pub(super) fn without(mut self, name: &'static str, situation: &'static str) -> Self {
        self.without.push(name);
        Self { situation, ..self }
    }

    pub(super) fn finding(self, finding: &'static str) -> Self {
        Self { finding, ..self }
    }

    /// What was typed, and what was different, each on a line.
    fn shown(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| match value.contains(['{', '"']) {
            true => format!("{name}='{value}' "),
            false => format!("{name}={value} "),
        });
        let mut shown = format!("$ {}{}\n", variables.collect::<String>(), self.typed);
        if let Some((name, content)) = self.file {
            shown += &content.lines().map(|line| format!("  {name}: {line}\n")).collect::<String>();
        }
        match self.template {
            Some((usual, "")) => shown += &format!("  template.yaml without: {}\n", usual.trim()),
            Some((_, instead)) => shown += &format!("  template.yaml: {instead}\n"),
            None => {}
        }
        if !self.situation.is_empty() {
            shown += &format!("  {}\n", self.situation);
        }
        shown
    }
}

/// The queues, the stack and the folder of all mistakes.
pub(super) struct Stage {
    shop: Aws,
    fifo: Aws,
    folder: TempDir,
}

impl Stage {
    pub(super) fn new() -> Self {
        let shop = Aws::with_shop(false);
        shop.letter("1");
        Self {
            shop,
            fifo: Aws::with_orders(true),
            folder: tempfile::tempdir().expect("there is room for a folder"),
        }
    }

    /// Makes the mistake, and shows what was typed, what the command says and its exit code.
    pub(super) fn entry(&self, mistake: &Mistake) -> String {
        let ran = self.make(mistake);
        let says = match mistake.finding {
            "" => ran.stderr.clone(),
            finding => found(&ran, finding),
        };
        if mistake.finding.is_empty() {
            let last = says.lines().last().unwrap_or_default();
            assert!(last.starts_with("redrive: ") || last.starts_with("Error: "), "{mistake:?} {ran:?}");
        }
        assert!(ran.code != 0 || !mistake.finding.is_empty(), "not a mistake: {mistake:?} {ran:?}");
        let says = self.without_what_changes(&says);
        let says = says.lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n"));
        format!("{}{}exit code {}\n", mistake.shown(), says.collect::<String>(), ran.code)
    }

    fn make(&self, mistake: &Mistake) -> Ran {
        let folder = self.folder.path();
        let template = mistake.template.map_or(TEMPLATE.to_owned(), |(usual, instead)| {
            assert!(TEMPLATE.contains(usual), "{usual}");
            TEMPLATE.replacen(usual, instead, 1)
        });
        write(folder, "template.yaml", &template);
        write(folder, "bootstrap", "#!/bin/sh\n");
        if let Some((name, content)) = mistake.file {
            write(folder, name, content);
        }
        let ran = match mistake.typed.strip_prefix("redrive") {
            Some(line) => Ran::of(&mut self.redrive(mistake, line.trim_start())),
            None => function(mistake),
        };
        if let Some((name, _)) = mistake.file {
            fs::remove_file(folder.join(name)).expect("it was written");
        }
        ran
    }

    fn redrive(&self, mistake: &Mistake, line: &str) -> Redrive {
        let aws = if line.contains(".fifo") { &self.fifo } else { &self.shop };
        let mut command = command(line);
        command.current_dir(self.folder.path()).env_remove("VISUAL").env_remove("EDITOR");
        command.env("AWS_ENDPOINT_URL", &aws.url).env("AWS_REGION", REGION);
        for name in &mistake.without {
            command.env_remove(name);
        }
        command.envs(mistake.variables.iter().copied());
        command
    }

    fn without_what_changes(&self, text: &str) -> String {
        let folder = format!("{}/", self.folder.path().display());
        [&self.shop.url, &self.fifo.url].iter().fold(text.replace(&folder, ""), |text, url| {
            let host = url.trim_start_matches("http://");
            text.replace(host, "127.0.0.1:9324")
        })
    }
}

fn write(folder: &Path, name: &str, content: &str) {
    fs::write(folder.join(name), content).expect("the folder is ours");
}

/// The function of `template.yaml`, as Lambda starts it.
fn function(mistake: &Mistake) -> Ran {
    let mut command = Command::new(built(mistake.typed));
    command.env_clear().stdin(Stdio::null()).envs(mistake.variables.iter().copied());
    for (name, value) in [
        ("AWS_LAMBDA_FUNCTION_NAME", "shop-orders"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
        ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1"),
        ("AWS_REGION", REGION),
    ] {
        command.env(name, value);
    }
    Ran::new(&command.output().expect("it runs"))
}

/// The first lines of a finding.
fn found(ran: &Ran, finding: &str) -> String {
    let of_code = |it: &&str| it.split_whitespace().nth(1) == Some(finding);
    let text = ran.stdout.split("\n\n").find(of_code).unwrap_or_else(|| panic!("no {finding} in {ran:?}"));
    text.lines().take(2).collect::<Vec<_>>().join("\n")
}
