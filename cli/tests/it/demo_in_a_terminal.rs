//! `redrive local` in front of somebody: a line that says how far it is, and Ctrl-C.

use std::path::Path;

use pty_process::blocking::Command;

use crate::terminal::Terminal;

#[test]
fn a_run_says_how_far_it_is_and_ends_with_the_table_on_ctrl_c() {
    let orders = Path::new(env!("CARGO_BIN_EXE_redrive")).with_file_name("orders");
    assert!(
        orders.exists(),
        "the demo function is not built yet: run `make test`, or cargo test --workspace"
    );
    let command = Command::new(env!("CARGO_BIN_EXE_redrive"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(["local", "--send", "events/last-delivery.json", "--binary"])
        .arg(orders);
    let mut terminal = Terminal::run(command);
    terminal.expect("waiting, the next one back at ");
    terminal.interrupt();
    assert_eq!(terminal.end(), 0, "{}", terminal.screen());
    let screen = terminal.screen();
    assert!(screen.contains("\n messages ") && screen.contains("simulated time"), "{screen}");
}
