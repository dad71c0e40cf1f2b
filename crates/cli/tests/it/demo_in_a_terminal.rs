//! `redrive local` on a terminal: its progress line, and Ctrl-C.

use pty_process::blocking::Command;

use crate::support::running::{built, root};
use crate::terminal::Terminal;

#[test]
fn a_run_says_how_far_it_is_and_ends_with_the_table_on_ctrl_c() {
    let command = Command::new(env!("CARGO_BIN_EXE_redrive"))
        .current_dir(root())
        .args(["local", "--send", "events/last-delivery.json", "--binary"])
        .arg(built("orders"));
    let mut terminal = Terminal::run(command);
    terminal.expect("waiting, the next one back at ");
    terminal.interrupt();
    terminal.ends(0);
    let screen = terminal.screen();
    assert!(screen.contains("\n messages ") && screen.contains("simulated time"), "{screen}");
}
