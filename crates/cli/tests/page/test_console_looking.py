"""Queues whose letters SQS moves when they are received: views that only show letters move none."""

import json
import re

import pytest
from playwright.sync_api import expect

from console import ACCOUNT, Accounts, read_all, until

LETTERS, OTHER = 20, "emails-01-dead"
ARN = f"arn:aws:sqs:eu-west-1:{ACCOUNT}:orders-dead"


@pytest.fixture
def accounts(begin, binaries, tmp_path):
    accounts = begin(Accounts, binaries, tmp_path / "accounts", queues=2, letters=LETTERS)
    policy = {"deadLetterTargetArn": f"arn:aws:sqs:eu-west-1:{ACCOUNT}:{OTHER}", "maxReceiveCount": 1}
    accounts.ask("SetQueueAttributes", "orders-dead", Attributes={"RedrivePolicy": json.dumps(policy)})
    return accounts


def test_no_look_moves_a_letter_unless_somebody_agreed(open_page, console, accounts):
    others = accounts.messages(OTHER)
    page = open_page(console.url)
    for _ in range(2):
        page.get_by_role("link", name="orders-dead", exact=True).click()
        expect(page.locator(".verdict")).to_contain_text("SQS moves a letter after 1 receive.")
        expect(page.locator(".sticky .sum")).to_have_text("Not received")
        page.reload()
        expect(page.locator(".verdict")).to_contain_text("No letter was received")
        page.get_by_role("link", name="Errors", exact=True).click()
        page.get_by_role("button", name="Receive up to ten letters of each queue").click()
        expect(page.get_by_role("list", name="Notes")).to_contain_text("skipped 1 dead-letter queue")
        expect(page.locator(".sum")).to_have_text(re.compile(r"^\d+ letters? received$"))
        page.get_by_role("link", name="Queues", exact=True).click()
    # Whatever the page believes.
    for _ in range(2):
        assert "--yes" in console.ask("/api/letters", {"queue": ARN})[1]
    status, text = console.ask("/api/letters", {"queue": ARN, "may_move": True})
    assert status == 403 and "is locked" in text
    assert accounts.messages() == LETTERS and accounts.messages(OTHER) == others

    page.get_by_role("link", name="orders-dead", exact=True).click()
    page.get_by_role("button", name="Receive the letters…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("after 1 receive SQS moves a letter to another queue")
    dialog.get_by_label("is locked. Type its id to unlock it.").fill(ACCOUNT)
    dialog.get_by_role("button", name="Receive", exact=True).click()
    read_all(page, LETTERS)
    page.get_by_role("button", name="Read again").click()
    expect(dialog).to_be_visible()
    expect(dialog.get_by_label("is locked. Type its id to unlock it.")).to_be_hidden()
    dialog.get_by_role("button", name="Cancel").click()
    read_all(page, LETTERS)
    until("it was received once", lambda: accounts.visible() == LETTERS, 20)
