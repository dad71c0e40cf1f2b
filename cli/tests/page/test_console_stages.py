"""Letters are retried in stages from the page alone, by a real consumer. Each queue has as many letters as are meant."""

import re
import signal
import time

import pytest
from playwright.sync_api import expect

from console import LARGE, MEANT, Accounts, Console, ended, find, open_queue, read_all, retry, until


@pytest.fixture
def accounts(begin, binaries, tmp_path):
    return begin(Accounts, binaries, tmp_path / "accounts", letters=MEANT)


@pytest.fixture
def page(open_page, console):
    page = open_page(console.url)
    open_queue(page, letters=MEANT)
    return page


def sent(page):
    return int(page.locator(".run .sum").inner_text().split()[0])


def back_to_the_queue(page, letters):
    page.get_by_role("link", name="Back to the queue").click()
    read_all(page, letters)


def is_over(pid):
    """Or only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_ten_letters_are_sent_to_a_consumer_that_is_still_broken(page, worker, accounts):
    worker.status = 422
    retry(page, "10,100,all")
    ended(page, "Ended with exit code 1.")
    expect(page.locator(".stages li")).to_have_count(1)
    expect(page.locator(".stages li")).to_contain_text("Stage 1: 10 letters sent, 10 came back: 10 with another error")
    assert len(worker.bodies) == 10
    assert accounts.messages() == MEANT


def test_the_rest_is_retried_after_a_stop(page, worker, accounts):
    retry(page, "all", wait="2s")
    expect(page.locator(".run .sum")).to_have_text(re.compile("^[1-9]"))
    page.get_by_role("button", name="Stop").click()
    ended(page, "Stopped.")
    before = sent(page)
    assert 0 < before < MEANT, "it was stopped in the middle"
    back_to_the_queue(page, MEANT - before)
    retry(page, "10,all")
    ended(page, "Done.")
    until("all are handled", lambda: len(worker.bodies) >= MEANT)
    assert len(worker.orders()) == len(worker.bodies) == MEANT
    assert accounts.messages() == accounts.messages("orders") == 0


def test_the_rest_is_retried_after_the_command_was_killed(page, worker, accounts, console, begin, open_page):
    retry(page, "all", wait="2s")
    expect(page.locator(".run .sum")).to_have_text(re.compile("^[1-9]"))
    [_, *verbs] = console.pids()
    console.end(signal.SIGKILL)
    until("the verb ends by itself", lambda: all(map(is_over, verbs)), 20)
    assert len(verbs) == 1 and accounts.messages() > 0, "it was killed in the middle"
    began = time.monotonic()
    until("all letters are visible", lambda: accounts.visible() == accounts.messages(), 90)
    print(f"visible after {time.monotonic() - began:.0f} s")
    again = open_page(begin(Console, accounts).url)
    open_queue(again, letters=accounts.messages())
    retry(again, "10,all")
    expect(again.locator(".verdict")).to_contain_text(re.compile("Done|exit code"), timeout=90_000)
    until("all are handled", lambda: len(worker.orders()) == MEANT)
    named = again.locator(".problems li, .faults li").all_inner_texts()
    print(named)
    assert len(worker.bodies) - MEANT <= 40
