//! The demo function that `template.yaml` deploys: takes an order, prices it, charges a pretend gateway.
//!
//! An order sets its own outcome, so that sample events can try everything that redrive does:
//! `{"order_id": "A-1", "lines": [{"sku": "tea", "quantity": 2}], "gateway": "down"}`. The gateway is `"up"`, unless the
//! order says `"down"`, `{"down_for": 3}` (works on attempt 4), `{"away_for": 2}` (an outage), `"refuses"`, `"panics"`,
//! `"hangs"` or `{"hangs_for": 1}`. An unknown sku, or a body that is not an order, becomes a dead letter at once.

use redrive::{Consumer, Failure, Message};

#[derive(serde::Deserialize)]
#[rustfmt::skip]
struct Order { order_id: String, lines: Vec<Line>, #[serde(default)] gateway: Mood }

#[derive(serde::Deserialize)]
#[rustfmt::skip]
struct Line { sku: String, quantity: u64 }

#[derive(serde::Deserialize, Default)]
#[serde(rename_all = "snake_case")]
#[rustfmt::skip]
enum Mood { #[default] Up, Down, DownFor(u32), AwayFor(u32), Refuses, Panics, Hangs, HangsFor(u32) }

async fn place(order: Message<Order>) -> Result<(), Failure> {
    let cents = order.body.lines.iter().map(price).sum::<Result<u64, Failure>>()?;
    if matches!(order.body.gateway, Mood::Hangs)
        || matches!(order.body.gateway, Mood::HangsFor(attempts) if order.attempt <= attempts)
    {
        std::future::pending::<()>().await;
    }
    charge(&order, cents)?;
    tracing::info!(order_id = order.body.order_id, cents, "charged");
    Ok(())
}

fn price(line: &Line) -> Result<u64, Failure> {
    let cents = match line.sku.as_str() {
        "tea" => 450,
        "coffee" => 620,
        "cocoa" => 580,
        sku => return Err(Failure::reject(format!("nobody sells {sku:?}")).with_reason("unknown-item")),
    };
    Ok(cents * line.quantity)
}

/// Takes the money, once for each [`Message::key`].
fn charge(order: &Message<Order>, cents: u64) -> Result<(), Failure> {
    match order.body.gateway {
        Mood::Down => Err("the gateway is down".into()),
        Mood::DownFor(attempts) if order.attempt <= attempts => Err("the gateway is down for now".into()),
        Mood::AwayFor(attempts) if order.attempt <= attempts => {
            Err(Failure::outage("the gateway does not answer"))
        }
        Mood::Refuses => {
            Err(Failure::reject(format!("{cents} cents: card refused")).with_reason("card-refused"))
        }
        Mood::Panics => panic!("the gateway's response could not be parsed"),
        Mood::Up | Mood::DownFor(_) | Mood::AwayFor(_) | Mood::Hangs | Mood::HangsFor(_) => Ok(()),
    }
}

// `redrive local --demo` also calls it.
#[tokio::main]
pub(crate) async fn main() -> Result<(), redrive::Error> {
    Consumer::new(place).run().await
}
