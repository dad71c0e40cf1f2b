//! A handler with its unit tests, alone and with SQS and the mapping on virtual time: hours of waiting take a few milliseconds.
//!
//! ```sh
//! cargo test --example tested
//! redrive local --example tested --send examples/tested.jsonl --speed max --until-idle
//! ```
//!
//! The sample messages end as the tests say. The first payment is charged, the second is retried after an hour because the bank
//! is closed, and the third is dead-lettered as `card-expired`. See docs/testing.md for how to write tests.

use std::time::Duration;

use redrive::{Failure, Message};
use serde::Deserialize;

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Card {
    Valid,
    Expired,
    /// A card of a bank that is closed at the first attempt.
    Foreign,
}

async fn pay(card: Message<Card>) -> Result<(), Failure> {
    match card.body {
        Card::Valid => Ok(()),
        Card::Foreign if card.attempt > 1 => Ok(()),
        Card::Foreign => Err(Failure::retry_after(HOUR, "the bank is closed")),
        Card::Expired => Err(Failure::reject("the card has expired").with_reason("card-expired")),
    }
}

#[tokio::main]
async fn main() -> Result<(), redrive::Error> {
    redrive::run(pay).await
}

#[cfg(test)]
mod tests {
    use redrive::Consumer;
    use redrive_local::kit::{self, TestAws};
    use serde_json::json;

    use redrive::Record;

    use super::*;

    #[tokio::test]
    async fn a_closed_bank_is_asked_again_and_an_expired_card_is_final() {
        let failure = pay(Message::new(Card::Foreign)).await.unwrap_err();
        assert_eq!((failure.is_retry(), failure.after()), (true, Some(HOUR)));
        assert!(pay(Record::builder().attempt(2).message(Card::Foreign)).await.is_ok());

        let failure = pay(Message::new(Card::Expired)).await.unwrap_err();
        assert_eq!((failure.is_rejection(), failure.reason()), (true, Some("card-expired")));
    }

    /// Sends a payment with this card, and returns it once it has ended.
    async fn after_paying_with(card: &str) -> kit::Message {
        let aws = TestAws::new();
        let queue = aws.queue("payments").dead_letter_queue("payments-dead", 5).create();
        let dead_letters = queue.dead_letter_queue().url();
        let consumer =
            Consumer::new(pay).sqs(aws.sqs()).dead_letter_queue_url(dead_letters).max_receive_count(5);
        let payment = queue.send(json!(card));
        queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
        payment
    }

    #[tokio::test(start_paused = true)]
    async fn a_valid_card_is_charged_at_once() {
        assert_eq!(after_paying_with("valid").await.done().after, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_bank_that_is_closed_is_asked_again_an_hour_later() {
        let payment = after_paying_with("foreign").await;
        assert_eq!(payment.received(), [Duration::ZERO, HOUR]);
        assert_eq!(payment.done().attempts, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_card_is_a_dead_letter_at_the_first_attempt() {
        let letter = after_paying_with("expired").await.dead_letter();
        assert_eq!((letter.reason.as_str(), letter.attempts), ("card-expired", 1));
    }
}
