//! `redrive dlq show`: prints everything about one letter.

use crate::letters::{DEAD, note, text};
use crate::support::Aws;

#[test]
fn a_letter_is_shown_with_all_that_is_known_of_it_and_let_go() {
    let aws = Aws::with_orders(false);
    for number in 0..15 {
        aws.letter(&format!("other {number}"));
    }
    let body = r#"{"total":1.10,"lines":[{"sku":"tea\u001b[2J"}],"big":123456789012345678901234567890}"#;
    let id = aws.letter_with(
        body,
        [
            ("redrive.dead-letter", note("m1", "rejected", "450 cents: card\u{9b}2J refused")),
            ("redrive.origin", text(r#"{"message_id":"m0","redrives":2}"#)),
            ("tenant", text("acme")),
        ],
    );
    for given in [id.as_str(), "m1"] {
        let ran = aws.redrive(&format!("dlq show --queue orders {given} --no-logs"));
        ran.told(0, "");
        for expected in [
            &format!("Letter {id} in orders-dead\n"),
            "  reason            rejected\n",
            "  error             450 cents: card\\u{9b}2J refused\n",
            "  request id        r-1\n",
            "  message id        m1\n",
            "  sent              2026-11-21T06:00:00.000Z (",
            "  sent back         2 times; its first id was m0\n",
            "\nAttributes\n  tenant            acme\n\nBody (",
            "│ {\n│   \"total\": 1.10,\n│   \"lines\": [\n│     {\n│       \"sku\": \"tea\\u001b[2J\"\n│     }\n│   ],\n",
            "\n│   \"big\": 123456789012345678901234567890\n│ }\n",
        ] {
            assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
        }
        assert!(!ran.stdout.contains("\u{9b}"));
        assert_eq!(aws.counts(DEAD), (16, 0));
    }
    let json = aws.redrive(&format!("dlq show --queue orders {id} --no-logs --json")).json();
    assert_eq!((&json["body"], &json["origin"]["redrives"]), (&body.into(), &2.into()));
}
