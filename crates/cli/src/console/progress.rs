//! Follows the progress of a verb by its output. Pure.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::Value;

use super::child::OutputLine;
use crate::letters::LeftReason;

/// Number of its last messages that are kept.
const MOST_SAID: usize = 100;
/// Most reasons why letters were not done, and most ids for each.
const MOST_PROBLEMS: usize = 50;
const MOST_IDS: usize = 5;

/// Letters that were not done for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Problem {
    result: String,
    error: String,
    count: u64,
    /// Ids of the first letters.
    ids: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Progress {
    /// Number of changes so far.
    pub(super) version: u64,
    /// Letters by result.
    results: BTreeMap<String, u64>,
    problems: Vec<Problem>,
    /// Result of each stage.
    stages: Vec<Value>,
    said: VecDeque<String>,
    /// Its exit code, once it has ended.
    pub(super) ended: Option<i32>,
    /// True if the user stopped it.
    pub(super) is_stopping: bool,
}

impl Progress {
    pub(super) fn take(&mut self, line: OutputLine) {
        self.version += 1;
        match line {
            OutputLine::Stderr(line) => {
                self.said.push_back(line);
                if self.said.len() > MOST_SAID {
                    self.said.pop_front();
                }
            }
            OutputLine::Stdout(line) => self.read(serde_json::from_str(&line).unwrap_or_default()),
        }
    }

    fn read(&mut self, mut line: Value) {
        if let Some(stage) = line.get_mut("stage") {
            self.stages.push(stage.take());
        } else if let Some(result) = line.get("result").and_then(Value::as_str) {
            // A later stage sends it, because the page sets no --max.
            if line.get("error").and_then(Value::as_str) == Some(LeftReason::OverMaximum.to_string().as_str())
            {
                return;
            }
            *self.results.entry(result.to_owned()).or_default() += 1;
            if !matches!(result, "sent" | "deleted") {
                let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
                self.add_problem(result, text("error"), text("id"));
            }
        }
    }

    fn add_problem(&mut self, result: &str, error: &str, id: &str) {
        let known = self.problems.iter().position(|known| known.result == result && known.error == error);
        let at = known.unwrap_or(self.problems.len());
        if at == self.problems.len() {
            if at == MOST_PROBLEMS {
                return;
            }
            self.problems.push(Problem {
                result: result.to_owned(),
                error: error.to_owned(),
                count: 0,
                ids: vec![],
            });
        }
        let problem = &mut self.problems[at];
        problem.count += 1;
        if problem.ids.len() < MOST_IDS {
            problem.ids.push(id.to_owned());
        }
    }

    pub(super) fn end(&mut self, code: i32) {
        self.version += 1;
        self.ended = Some(code);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_counted_and_stages_kept() {
        let mut progress = Progress::default();
        for line in [
            r#"{"id":"1","message_id":"1","result":"sent"}"#,
            r#"{"id":"2","message_id":"2","result":"sent"}"#,
            r#"{"id":"3","message_id":"3","result":"failed","error":"too large"}"#,
            r#"{"id":"4","message_id":"4","result":"left","error":"over --max"}"#,
            r#"{"totals":{"sent":2}}"#,
            r#"{"stage":{"number":1,"result":"clear"}}"#,
            "no json",
        ] {
            progress.take(OutputLine::Stdout(line.to_owned()));
        }
        progress.take(OutputLine::Stderr("redrive: watching".to_owned()));
        progress.end(1);
        let told = serde_json::to_value(&progress).unwrap();
        assert_eq!(told["results"], json!({ "sent": 2, "failed": 1 }));
        assert_eq!(
            told["problems"],
            json!([{ "result": "failed", "error": "too large", "count": 1, "ids": ["3"] }])
        );
        assert_eq!(told["stages"], json!([{ "number": 1, "result": "clear" }]));
        assert_eq!(told["said"], json!(["redrive: watching"]));
        assert_eq!((progress.version, progress.ended), (9, Some(1)));
    }

    #[test]
    fn much_is_not_kept() {
        let mut progress = Progress::default();
        for number in 0..1_000 {
            progress.take(OutputLine::Stderr(number.to_string()));
            let error = format!("{}", number % 60);
            let line = json!({ "id": number.to_string(), "result": "failed", "error": error });
            progress.take(OutputLine::Stdout(line.to_string()));
        }
        assert_eq!((progress.said.len(), progress.problems.len()), (MOST_SAID, MOST_PROBLEMS));
        assert_eq!((progress.problems[0].count, progress.problems[0].ids.len()), (17, MOST_IDS));
        assert_eq!(progress.said.back().unwrap(), "999");
    }
}
