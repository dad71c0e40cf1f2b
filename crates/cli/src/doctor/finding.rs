//! Checks and their findings.

use std::fmt;
use std::iter::Sum;

use redrive_iac::deployment::{Alarm, Deployment, Drift, Function, Mapping, Queue, Scaler, Table, Worker};

use super::feed::{Consumer, ConsumerKind};
use super::words::Words;
use crate::counted::counted;

/// One known way to lose or delay messages.
#[derive(Debug)]
pub(crate) struct Check {
    /// Stable, because people search for it and exclude it.
    pub(super) code: &'static str,
    pub(super) level: Level,
    /// A sentence without its full stop.
    pub(super) title: &'static str,
    pub(super) why: Words,
    /// The page that documents the reason.
    pub(super) link: &'static str,
    pub(super) fix: Words,
    pub(super) find: fn(&Deployment) -> Vec<Found>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Messages will be lost, or nobody will be notified.
    Error,
    /// Messages can be lost or late when something else goes wrong.
    Warning,
}

/// The result of a check: a sentence with names and numbers, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) what: String,
    /// The file, if it is not the template.
    pub(super) file: Option<String>,
    pub(super) line: Option<usize>,
    /// The logical id in a template, else the name.
    pub(super) id: String,
    about: About,
    /// The fix, if the check's fix cannot be followed.
    fix: Option<&'static str>,
}

/// The consumers that a finding concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
enum About {
    /// All consumers of a queue, by its ARN. For a dead-letter queue, the consumers whose letters it receives.
    Queue(String),
    /// A function, by its name if that is known.
    Function(Option<String>),
    /// A worker, which runs redrive.
    Worker,
    Everything,
}

/// A check with one thing that it has found.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(super) check: &'static Check,
    pub(super) found: Found,
    /// True if it concerns a function that runs redrive, which decides the words.
    pub(super) runs_redrive: bool,
}

/// Numbers of errors and warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) errors: usize,
    pub(super) warnings: usize,
}

impl Check {
    pub(crate) fn findings(&'static self, deployment: &Deployment) -> Vec<Finding> {
        let mut found = (self.find)(deployment);
        // A function that several queues feed is reported once.
        found.dedup();
        let finding = |found: Found| {
            let runs_redrive = found.about.runs_redrive(deployment);
            debug_assert!(runs_redrive || !self.fix.is_of_redrive(), "{found:?} needs redrive");
            Finding { check: self, found, runs_redrive }
        };
        found.into_iter().map(finding).collect()
    }
}

impl About {
    fn runs_redrive(&self, deployment: &Deployment) -> bool {
        match self {
            Self::Queue(arn) => deployment.is_queue_of_redrive(arn),
            Self::Function(name) => {
                name.as_deref().is_some_and(|name| deployment.is_mapped_with_redrive(name))
            }
            Self::Worker => true,
            Self::Everything => !deployment.workers.is_empty() || deployment.has_mapping_with_redrive(),
        }
    }
}

impl Finding {
    pub(super) const fn why(&self) -> &'static str {
        self.check.why.to(self.runs_redrive)
    }

    /// Names the parameter values that bring the finding about.
    pub(super) fn only_with(mut self, values: &str) -> Self {
        self.found.what = format!("With {values}: {}", self.found.what);
        self
    }

    pub(super) fn fix(&self) -> &'static str {
        self.found.fix.unwrap_or_else(|| self.check.fix.to(self.runs_redrive))
    }

    /// Returns the file that contains it, if there is one.
    pub(super) fn file<'a>(&'a self, deployment: &'a Deployment) -> Option<&'a str> {
        let is_in_file = self.found.line.is_some() || deployment.is_plan;
        self.found.file.as_deref().or(is_in_file.then_some(deployment.name.as_str()))
    }

    /// Returns `FILE:LINE` for a template, else the name.
    pub(super) fn place(&self, deployment: &Deployment) -> String {
        let Found { file, line, id, .. } = &self.found;
        match (file, line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            (None, Some(line)) => format!("{}:{line}", deployment.name),
            (None, None) if deployment.is_plan => format!("{}: {id}", deployment.name),
            (None, None) => id.clone(),
        }
    }
}

impl Counts {
    pub(super) fn of(findings: &[Finding]) -> Self {
        let errors = findings.iter().filter(|finding| finding.check.level == Level::Error).count();
        Self { errors, warnings: findings.len() - errors }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self { errors: 0, warnings: 0 }, |all, one| Self {
            errors: all.errors + one.errors,
            warnings: all.warnings + one.warnings,
        })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", counted(self.errors, "error"), counted(self.warnings, "warning"))
    }
}

impl Level {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Place of a finding: a logical id or a name, its line in the template, and the consumers that it concerns.
pub(super) struct Place<'a>(&'a str, Option<usize>, About);

impl Found {
    pub(super) fn at<'a>(place: impl Into<Place<'a>>, what: String) -> Self {
        let Place(id, line, about) = place.into();
        Self { what, file: None, id: id.to_owned(), line, about, fix: None }
    }

    /// Places the finding in a file other than the template.
    pub(super) fn in_file(self, file: String, line: Option<usize>) -> Self {
        Self { file: Some(file), line, ..self }
    }

    /// Replaces the check's fix, if that cannot be followed here.
    pub(super) fn fixed_by(self, fix: Option<&'static str>) -> Self {
        Self { fix, ..self }
    }
}

impl<'a> From<&'a Queue> for Place<'a> {
    fn from(queue: &'a Queue) -> Self {
        Self(&queue.id, queue.line, About::Queue(queue.arn.clone()))
    }
}

impl<'a> From<&'a Function> for Place<'a> {
    fn from(function: &'a Function) -> Self {
        Self(&function.id, function.line, About::Function(Some(function.name.clone())))
    }
}

impl<'a> From<&'a Worker> for Place<'a> {
    fn from(worker: &'a Worker) -> Self {
        Self(&worker.id, worker.line, About::Worker)
    }
}

impl<'a> From<&'a Scaler> for Place<'a> {
    fn from(scaler: &'a Scaler) -> Self {
        Self(&scaler.id, scaler.line, About::Worker)
    }
}

impl<'a> From<Consumer<'a>> for Place<'a> {
    fn from(consumer: Consumer<'a>) -> Self {
        match consumer.kind {
            ConsumerKind::Function(function) => function.into(),
            ConsumerKind::Worker(worker) => worker.into(),
        }
    }
}

impl<'a> From<&'a Mapping> for Place<'a> {
    fn from(mapping: &'a Mapping) -> Self {
        Self(&mapping.id, mapping.line, About::Function(mapping.function.clone()))
    }
}

impl<'a> From<&'a Alarm> for Place<'a> {
    fn from(alarm: &'a Alarm) -> Self {
        Self(&alarm.id, alarm.line, About::Everything)
    }
}

impl<'a> From<&'a Table> for Place<'a> {
    fn from(table: &'a Table) -> Self {
        Self(&table.id, table.line, About::Everything)
    }
}

impl<'a> From<&'a Drift> for Place<'a> {
    fn from(drift: &'a Drift) -> Self {
        Self(&drift.id, None, About::Everything)
    }
}
