use std::time::Duration;

use redrive_local::{Control, Event, EventKind, Letter, Local, NewMessage, ResendError, Speed};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::support::{message, shop};

const PATIENCE: Duration = Duration::from_secs(20);

async fn start(speed: Speed) -> (Local, Control, UnboundedReceiver<Event>) {
    let mut local = Local::start(shop(speed)).await.unwrap();
    let (control, events) = (local.control(), local.take_events());
    control.keep_messages(1 << 20);
    (local, control, events)
}

/// Waits for an event of this kind, and returns its time.
async fn wait(events: &mut UnboundedReceiver<Event>, is_it: impl Fn(&EventKind) -> bool) -> Duration {
    let found = async {
        loop {
            let event = events.recv().await.expect("the stream goes on");
            if is_it(&event.kind) {
                return event.at;
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("it happens")
}

fn failed(kind: &EventKind) -> bool {
    matches!(kind, EventKind::BackIn { .. })
}

#[tokio::test]
async fn a_held_clock_delays_failed_messages_until_a_release_or_skip() {
    let (local, control, mut events) = start(Speed::Max).await;
    control.hold();
    control.send("orders", message("fail")).unwrap();
    let first = wait(&mut events, failed).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let clock = control.clock();
    assert!(
        (clock.held, clock.pace) == (true, 0.0) && clock.at < first + Duration::from_secs(1),
        "{clock:?}"
    );
    tokio::time::timeout(PATIENCE, control.skip(Duration::from_secs(31))).await.unwrap();
    let second = wait(&mut events, failed).await;
    assert!(second > first + Duration::from_secs(25), "{first:?} {second:?}");
    control.set_speed(Speed::Times(1_000.0)).unwrap();
    assert!(control.clock().held, "another speed does not release it");
    control.release();
    wait(&mut events, |kind| matches!(kind, EventKind::DeadLettered { .. })).await;
    assert!(control.set_speed(Speed::Times(0.0)).is_err());
    local.stop().await;
}

#[tokio::test]
async fn a_dead_letter_is_sent_back_with_changes_and_its_copy_is_kept() {
    let (local, control, mut events) = start(Speed::Max).await;
    let id = control.send("orders", message("fail")).unwrap();
    wait(&mut events, |kind| matches!(kind, EventKind::DeadLettered { .. })).await;
    let names = ["orders".to_owned(), "orders-dead".to_owned(), "nothing".to_owned()];
    let held = |control: &Control| {
        control.vitals(&names).queues.iter().map(|c| c.map(|c| c.visible)).collect::<Vec<_>>()
    };
    assert_eq!(held(&control), [Some(0), Some(1), None]);

    let change = |_: &Letter<'_>, message: &mut NewMessage| message.body = "ok".to_owned();
    let new = control.resend("orders-dead", "orders", |each| each.id == id, change).unwrap();
    wait(&mut events, |kind| matches!(kind, EventKind::Done { message_id, .. } if *message_id == new)).await;
    assert_eq!(held(&control), [Some(0), Some(0), None]);
    let again = control.resend("orders-dead", "orders", |each| each.id == id, change);
    assert_eq!(again, Err(ResendError::NotThere("orders-dead".to_owned())));

    let body = |id: &str| control.message(id).map(|sent| (sent.queue, sent.message.body));
    assert_eq!(body(&id), Some(("orders".to_owned(), "fail".to_owned())));
    assert_eq!(body(&new), Some(("orders".to_owned(), "ok".to_owned())));
    let latest = control.find_message(|_, sent| sent.queue == "orders").unwrap();
    assert_eq!((latest.message.body.as_str(), body("unknown")), ("ok", None));
    local.stop().await;
}
