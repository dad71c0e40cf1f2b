"""Helpers for users with many letters: links, ranges, filters and groups."""

import json
import re

import pytest
from playwright.sync_api import expect

from console import ACCOUNT, Accounts, Console, button, confirm, open_queue, read_all, restored, verdict

LETTERS = 40


@pytest.fixture
def accounts(begin, binaries, tmp_path):
    return begin(Accounts, binaries, tmp_path / "accounts", letters=LETTERS)


def test_a_link_that_is_clicked_during_a_refresh_opens_its_queue(open_page, console):
    page = open_page(console.url)
    page.get_by_role("link", name="orders-dead", exact=True).hover()
    page.mouse.down()
    page.get_by_role("searchbox", name="Filter queues").dispatch_event("input")
    page.mouse.up()
    expect(page.locator(".sticky .sum")).to_have_text(f"{LETTERS} letters", timeout=60_000)


def test_a_range_is_selected_and_a_condition_is_found_in_the_filter(open_page, console):
    page = open_page(console.url)
    open_queue(page, letters=LETTERS)
    box = page.locator(".row .box")
    box.nth(1).click()
    box.nth(6).click(modifiers=["Shift"])
    expect(page.locator(".sticky .sum")).to_have_text(f"{LETTERS} letters, 6 selected")
    box.nth(3).click()
    box.nth(5).click(modifiers=["Shift"])
    expect(page.locator(".sticky .sum")).to_have_text(f"{LETTERS} letters, 3 selected")
    page.locator(".viewport").focus()
    for key in ("Home", "x", "j", "j", "X"):
        page.keyboard.press(key)
    expect(page.locator(".sticky .sum")).to_have_text(f"{LETTERS} letters, 4 selected")
    page.get_by_role("button", name="Select none").click()
    expect(page.locator(".sticky .sum")).to_have_text(f"{LETTERS} letters")
    page.locator(".viewport").focus()
    page.keyboard.press("/")
    page.keyboard.type("body.tenant = globex")
    expect(page.get_by_text("Press Enter in the filter to use it as a condition.")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove body.tenant = globex")).to_be_visible()
    expect(page.get_by_role("searchbox", name="Filter letters by text")).to_have_value("")
    expect(page.locator(".sticky .sum")).to_have_text(re.compile(r"^\d+ letters$"))


def test_all_letters_of_a_group_are_retried(open_page, begin, accounts):
    fifo = {"FifoQueue": "true"}
    accounts.ask("CreateQueue", "", QueueName="jobs-dead.fifo", Attributes=fifo)
    policy = {"deadLetterTargetArn": f"arn:aws:sqs:eu-west-1:{ACCOUNT}:jobs-dead.fifo", "maxReceiveCount": 3}
    accounts.ask("CreateQueue", "", QueueName="jobs.fifo", Attributes={**fifo, "RedrivePolicy": json.dumps(policy)})
    for number in range(25):
        attributes = {name: {"DataType": kind, "StringValue": text} for name, (kind, text) in restored("jobs.fifo").items()}
        of_group = {"MessageGroupId": "one", "MessageDeduplicationId": str(number), "MessageAttributes": attributes}
        accounts.ask("SendMessage", "jobs-dead.fifo", MessageBody=str(number), **of_group)
    page = open_page(begin(Console, accounts).url)
    page.get_by_role("link", name="jobs-dead.fifo", exact=True).click()
    read_all(page, 10)
    button(page, "Retry").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("code")).to_contain_text("--ids letters.txt")
    dialog.get_by_label("Also about 15 letters behind these in their groups").check()
    expect(dialog.locator("code")).not_to_contain_text("--ids")
    dialog.get_by_label("Stages").fill("all")
    dialog.get_by_label("Watch after each stage for").fill("1s")
    confirm(dialog, "Retry")
    expect(page.locator(".run .sum")).to_have_text("25 of 25 sent")
    expect(verdict(page)).to_have_class(re.compile("dead"))
    assert accounts.messages("jobs.fifo") == 25 and accounts.messages("jobs-dead.fifo") == 0
