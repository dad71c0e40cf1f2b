//! `AddPermission` and `RemovePermission`.

use serde::Deserialize;

use super::request::{Context, required};
use crate::protocol::Answer;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    queue_url: Option<String>,
    label: Option<String>,
    #[serde(rename = "AWSAccountIds")]
    account_ids: Option<Vec<String>>,
    actions: Option<Vec<String>>,
}

pub(super) fn add(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    let label = required(input.label, "Label")?;
    let accounts = required(input.account_ids, "AWSAccountIds")?;
    let actions = required(input.actions, "Actions")?;
    context.service.add_permission(&queue, &label, &accounts, &actions, context.now)?;
    context.nothing()
}

pub(super) fn remove(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let queue = context.queue(input.queue_url)?;
    context.service.remove_permission(&queue, &required(input.label, "Label")?, context.now)?;
    context.nothing()
}
