//! `redrive queue pause` and `resume`: disable and enable the mappings.

use crate::support::Aws;
use crate::terminal::Terminal;

#[test]
fn a_terminal_shows_that_it_waits_for_what_is_in_flight() {
    let aws = Aws::with_shop(true);
    aws.send("orders", "slow 9000");
    while aws.attribute("orders", "ApproximateNumberOfMessagesNotVisible") != "1" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut terminal = Terminal::redrive(&aws, "queue pause --stack shop");
    terminal.expect("waiting until Lambda has made 1 mapping Disabled (1s)");
    terminal.ends(0);
    let screen = terminal.screen();
    assert!(
        screen.contains("orders -> worker: Disabled, was Enabled") && !screen.contains("waiting until"),
        "{screen}"
    );
    assert_eq!(aws.attribute("orders", "ApproximateNumberOfMessagesNotVisible"), "0", "it was finished");
}

#[test]
fn without_waiting_a_pause_prints_the_state_of_the_mapping() {
    let aws = Aws::with_shop(true);
    aws.send("orders", "slow 9000");
    while aws.attribute("orders", "ApproximateNumberOfMessagesNotVisible") != "1" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    aws.redrive("queue pause --stack shop --wait 1")
        .ended(1)
        .stderr_has("is still Disabling; Lambda continues, see redrive queue status");
    // It cannot be changed while it changes.
    aws.redrive("queue resume --stack shop --wait 1").ended(1).stderr_has("was not changed: try again");
    let ran = aws.redrive("queue resume --stack shop --wait 30");
    assert_eq!(ran.code, 0, "once it has settled it is changed: {ran:?}");
}
