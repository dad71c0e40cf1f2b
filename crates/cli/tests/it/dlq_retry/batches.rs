//! The order of calls, and the letters that are sent.

use super::letters::{DEAD, ORDERS, with_letters};
use crate::proxy::Proxy;
use crate::support::Aws;

#[test]
fn once_all_ids_were_found_no_more_letters_are_received() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("one");
    let proxy = Proxy::listening(&aws.url);
    proxy
        .redrive_with("dlq retry --queue orders --yes --ids -", &id)
        .printed(0, "1 sent from orders-dead to orders\n");
    assert_eq!(proxy.entries(&["ReceiveMessage"]).len(), 1);
}

#[test]
fn a_rate_is_that_of_letters_sent_and_not_of_those_looked_at() {
    let mut reasons = ["rejected"; 10];
    reasons[..2].fill("panic");
    let aws = with_letters(40, &reasons);
    let proxy = Proxy::listening(&aws.url);
    let began = std::time::Instant::now();
    proxy
        .redrive("dlq retry --queue orders --yes --where 'reason = panic' --rate 4")
        .printed(0, "8 sent from orders-dead to orders, 32 not selected\n");
    let took = began.elapsed().as_secs_f64();
    assert!((1.0..8.0).contains(&took), "{took} s");
    assert_eq!(aws.counts(DEAD), (32, 0));
}

#[test]
fn ids_that_a_maximum_kept_from_being_reached_are_not_called_missing() {
    let aws = Aws::with_orders(false);
    let ids: Vec<_> = (0..15).map(|number| aws.letter(&number.to_string())).collect();
    aws.redrive_with("dlq retry --queue orders --yes --max 1 --ids -", &ids.join("\n")).told(0, "");
    assert_eq!(aws.counts(ORDERS), (1, 0));
}
