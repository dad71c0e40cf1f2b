"""An operator who finds and retries some of many letters without a mouse, and two operators on one queue."""

import json
import re
import time

from playwright.sync_api import expect

from console import ACCOUNT, LARGE, MEANT, Accounts, Console, Worker, about_to_retry, ended, open_queue, read_all, retry, until, verdict

# Between two keys, in milliseconds.
TYPING = 80


def test_834_of_5012_letters_are_found_and_retried_with_the_keyboard(open_page, console, worker, accounts):
    page = open_page(console.url)
    expect(page.get_by_role("link", name="orders-dead", exact=True)).to_be_visible()
    keys = page.keyboard
    began = time.monotonic()

    def press(*names):
        for name in names:
            page.wait_for_timeout(TYPING)
            keys.press(name)

    press("/")
    keys.type("orders", delay=TYPING)
    press("Escape", "j", "Enter")
    read_all(page, LARGE)
    press("/")
    keys.type("acme timeout", delay=TYPING)
    expect(page.locator(".sticky .sum")).to_have_text(f"{MEANT} of {LARGE:,} letters")
    press("Escape", "r")
    expect(page.get_by_label("Stages")).to_be_focused()
    press("Tab")
    keys.type("5s", delay=TYPING)
    press("Tab")
    keys.type(ACCOUNT, delay=TYPING)
    press("Enter")
    ended(page, "Done.")
    print(f"found and retried in {time.monotonic() - began:.0f} s")
    expect(page.locator(".stages .clear")).to_have_count(3)
    assert len(worker.orders()) == len(worker.bodies) == MEANT
    assert {json.loads(body)["tenant"] for body in worker.bodies} == {"acme"}
    assert accounts.messages() == LARGE - MEANT and accounts.messages("orders") == 0
    page.get_by_role("link", name="Back to the queue").click()
    read_all(page, LARGE - MEANT)
    page.get_by_role("searchbox", name="Filter letters by text").fill("acme timeout")
    expect(page.locator(".sticky .sum")).to_have_text(f"0 of {LARGE - MEANT:,} letters")


def test_two_operators_double_nothing(begin, binaries, tmp_path, open_page):
    accounts = begin(Accounts, binaries, tmp_path / "accounts", letters=1_000)
    worker = begin(Worker, accounts)
    pages = [open_page(begin(Console, accounts, state=name).url) for name in ("ada", "bob")]
    for page in pages:
        open_queue(page, letters=1_000)
    for button in [about_to_retry(page, "all", wait="2s") for page in pages]:
        button.click()
    for page in pages:
        expect(verdict(page)).to_have_class(re.compile("done|dead"))
    sent = [int(page.locator(".run .sum").inner_text().split()[0]) for page in pages]
    until("all are handled", lambda: len(worker.orders()) == 1_000)
    assert sum(sent) == len(worker.bodies) == 1_000
    assert min(sent) > 0, "both were at work"
    assert accounts.messages() == accounts.messages("orders") == 0
