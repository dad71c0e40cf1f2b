//! `--edit`: a letter is mended before it goes, or stays as it was.

use super::letters::{DEAD, ORDERS, bodies, counts, take, write, write_many};
use crate::support::{Aws, REGION, Ran};
use crate::terminal::Terminal;

fn edit(aws: &Aws, editor: &str, more: &[&str]) -> Ran {
    let arguments = [&["dlq", "retry", "--queue", ORDERS, "--edit"], more].concat();
    let mut command = aws.command(&arguments);
    Ran::new(&command.env_remove("VISUAL").env("EDITOR", editor).output().unwrap())
}

#[test]
fn an_edited_letter_goes_as_it_was_edited() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 3);
    let ran = edit(&aws, "sed -i s/1/100/", &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout, "1 sent from orders-dead to orders, 2 left (unchanged in the editor)\n");
    let sent = take(&aws, ORDERS);
    assert_eq!(sent[0].body.as_deref(), Some("{\"n\":100}"));
    let origin = sent[0].message_attributes.as_ref().unwrap()["redrive.origin"].string_value().unwrap();
    assert_eq!(origin, "{\"message_id\":\"m1\",\"redrives\":1}");
    assert_eq!(bodies(&aws, DEAD), ["{\"n\":0}", "{\"n\":2}"]);
}

#[test]
fn an_editor_that_fails_leaves_the_letter() {
    let aws = Aws::with_orders(false);
    write(&aws, 1, &["panic"]);
    for (editor, expected) in [
        ("false", "the editor false failed (exit status: 1)"),
        ("no-such-editor", "the editor no-such-editor failed (exit status: 127)"),
        ("rm", "could not read what the editor left"),
        ("truncate -s 5", "cannot be sent as edited: EOF while parsing"),
        ("sed -i s/body/text/", "unknown field `text`"),
    ] {
        let ran = edit(&aws, editor, &[]);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((0, 0), (1, 0)), "{editor}");
    }
    let mut command = aws.command(&["dlq", "retry", "--queue", ORDERS, "--edit"]);
    let ran = Ran::new(&command.env_remove("VISUAL").env_remove("EDITOR").output().unwrap());
    assert_eq!(ran.code, 2);
    assert_eq!(ran.stderr, "redrive: --edit needs an editor: set VISUAL or EDITOR\n");
}

#[test]
fn a_slip_in_the_editor_can_be_mended_in_the_next_try() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 1);
    // The first time it breaks the document, the second time it mends it.
    let editor = r#"sh -c 'if grep -q body "$0"; then sed -i s/body/boddy/ "$0"; else sed -i "s/boddy/body/; s/0/7/" "$0"; fi'"#;
    let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_redrive"))
        .args(["dlq", "retry", "--queue", ORDERS, "--edit", "--endpoint-url", &aws.url, "--region", REGION])
        .env_remove("AWS_PROFILE")
        .env("VISUAL", editor);
    let mut terminal = Terminal::run(command);
    terminal.expect("Edit it again? [Y/n]");
    terminal.enter("");
    assert_eq!(terminal.end(), 0, "{}", terminal.screen());
    assert_eq!(bodies(&aws, ORDERS), ["{\"n\":7}"]);
}
