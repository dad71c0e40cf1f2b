//! What is told of a template, in the words of Terraform.

use super::resources::ROWS;

/// What is called otherwise and stands in no table.
const OTHERS: [(&str, &str); 3] =
    [("policy", "PolicyDocument"), ("role", "RoleName"), ("queue_url", "Queues")];

/// `VisibilityTimeout of aws_sqs_queue.orders` has the attribute's name, and what is not in the template is not in the plan.
pub(super) fn of_terraform(line: &str) -> String {
    let line = line.replace("in this template", "in this plan or state");
    let words: Vec<&str> = line.split(' ').collect();
    let of_resource = |at: usize| {
        words.get(at + 1) == Some(&"of") && words.get(at + 2).is_some_and(|address| address.contains("aws_"))
    };
    let told: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(at, word)| if of_resource(at) { attribute(word) } else { (*word).to_owned() })
        .collect();
    told.join(" ")
}

/// The attribute that a property is.
fn attribute(property: &str) -> String {
    let is_it = |row: &&(&str, &str)| row.1.split('.').next_back() == Some(property);
    if let Some((path, _)) = ROWS.into_iter().flatten().chain(&OTHERS).find(is_it) {
        return (*path).to_owned();
    }
    let is_pascal = property.starts_with(|first: char| first.is_ascii_uppercase())
        && property.chars().all(|it| it.is_ascii_alphanumeric());
    if !is_pascal {
        return property.to_owned();
    }
    let mut snake = String::new();
    for (at, letter) in property.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::of_terraform;

    #[test]
    fn a_property_is_named_as_its_attribute() {
        for (line, told) in [
            (
                "VisibilityTimeout of aws_sqs_queue.orders: why",
                "visibility_timeout_seconds of aws_sqs_queue.orders: why",
            ),
            (
                "MaximumConcurrency of module.m.aws_lambda_event_source_mapping.orders: why",
                "scaling_config.maximum_concurrency of module.m.aws_lambda_event_source_mapping.orders: why",
            ),
            (
                "RedriveAllowPolicy of aws_sqs_queue.q is not JSON",
                "redrive_allow_policy of aws_sqs_queue.q is not JSON",
            ),
            ("PolicyDocument of aws_iam_role_policy.p: why", "policy of aws_iam_role_policy.p: why"),
            ("maxReceiveCount of aws_sqs_queue.q: why", "maxReceiveCount of aws_sqs_queue.q: why"),
            ("the queue of a: b is not in this template", "the queue of a: b is not in this plan or state"),
            ("The Queue of Orders", "The Queue of Orders"),
        ] {
            assert_eq!(of_terraform(line), told);
        }
    }
}
