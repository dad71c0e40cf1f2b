//! The HTTP client of one worker: has calls go wrong, and remembers them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use fastrand::Rng;
use redrive_local::kit::{Fault, TestAws};
use serde_json::Value;

use super::log::{Call, Entry, Log};
use crate::simulation::scenario::choose;

#[derive(Debug, Clone)]
pub(super) struct Tap {
    pub(super) aws: TestAws,
    pub(super) life: usize,
    pub(super) log: Arc<Mutex<Log>>,
    pub(super) trouble: Arc<Mutex<Trouble>>,
}

/// What goes wrong.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) rng: Rng,
    pub(super) odds: u32,
    pub(super) visibility: u64,
    /// For the call that is made now.
    pub(super) next: Option<Fault>,
}

impl Trouble {
    fn fault(&mut self, operation: &str) -> Option<Fault> {
        let is_start = operation == "GetQueueAttributes";
        if self.rng.u32(..100) >= self.odds || (is_start && self.rng.bool()) {
            return None;
        }
        let long =
            Duration::from_millis(choose(&mut self.rng, &[300, 1_500, 4_000, self.visibility * 1_000 + 500]));
        let any = [
            Fault::Refused,
            Fault::Throttled,
            Fault::Hangs,
            Fault::AnswerLost,
            Fault::AnswerLate(long),
            Fault::Slow(long),
            Fault::HalfFails,
            Fault::HalfFails,
        ];
        let faults = match operation {
            "GetQueueAttributes" => &any[..3],
            "ReceiveMessage" => &any[..6],
            _ => &any[..],
        };
        Some(choose(&mut self.rng, faults))
    }
}

impl HttpClient for Tap {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Tap {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let tap = self.clone();
        HttpConnectorFuture::new(async move {
            let target = request.headers().get("x-amz-target").unwrap_or_default();
            let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
            let body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
            let entries = body["Entries"].as_array().map_or(&[][..], Vec::as_slice);
            let entries = entries.iter().map(entry).collect();
            let fault = tap.trouble.lock().unwrap().fault(&operation);
            let at = {
                let (mut log, sent) = (tap.log.lock().unwrap(), tap.aws.elapsed());
                log.calls.push(Call { life: tap.life, operation, sent, answered: None, entries, fault });
                log.calls.len() - 1
            };
            // The kit asks for it when the call is polled for the first time, which is now.
            tap.trouble.lock().unwrap().next = fault;
            let response = HttpConnector::call(&tap.aws, request).await?;
            let answer: Value = serde_json::from_slice(response.body().bytes().unwrap()).unwrap();
            let mut log = tap.log.lock().unwrap();
            let call = &mut log.calls[at];
            call.answered = Some(tap.aws.elapsed());
            for done in answer["Successful"].as_array().into_iter().flatten() {
                call.entries.iter_mut().filter(|it| done["Id"] == *it.id).for_each(|it| it.is_done = true);
            }
            for message in answer["Messages"].as_array().into_iter().flatten() {
                let text = |name: &str| message[name].as_str().unwrap().to_owned();
                let (subject, is_done) = (text("MessageId"), true);
                let handle = text("ReceiptHandle");
                call.entries.push(Entry { id: String::new(), handle, subject, timeout: None, is_done });
            }
            Ok(response)
        })
    }
}

fn entry(entry: &Value) -> Entry {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let note = &entry["MessageAttributes"][redrive::DeadLetter::ATTRIBUTE]["StringValue"];
    let note: Value = serde_json::from_str(note.as_str().unwrap_or("{}")).unwrap();
    Entry {
        id: text(&entry["Id"]),
        handle: text(&entry["ReceiptHandle"]),
        subject: text(&note["message_id"]),
        timeout: entry["VisibilityTimeout"].as_u64(),
        is_done: false,
    }
}
