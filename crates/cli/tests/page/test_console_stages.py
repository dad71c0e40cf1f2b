"""Retries letters in stages from the page, with a real consumer. Each queue has exactly the letters of its test."""

import os
import re
import signal

import pytest
from playwright.sync_api import expect

from console import MEANT, Accounts, Console, ended, open_queue, read_all, retry, until, verdict

# Sooner than Playwright looks again: sending all takes two seconds.
AT_WORK = """async () => {
    for (let frame = 0; frame < 1_000; frame += 1) {
        if (/^[1-9]/.test(document.querySelector('.run .sum')?.textContent)) return;
        await new Promise(requestAnimationFrame);
    }
}"""


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
    """Returns true if the process has ended, even if it was not reaped."""
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
    page.evaluate(AT_WORK)
    page.get_by_role("button", name="Stop").click()
    ended(page, "Stopped.")
    before = sent(page)
    assert 0 < before < MEANT, "it was stopped in the middle"
    back_to_the_queue(page, MEANT - before)
    retry(page, "all")
    ended(page, "Done.")
    until("all are handled", lambda: len(worker.bodies) >= MEANT)
    assert len(worker.orders()) == len(worker.bodies) == MEANT
    assert accounts.messages() == accounts.messages("orders") == 0


def test_a_verb_whose_page_was_killed_begins_no_other_stage(page, worker, accounts, console, begin, open_page):
    retry(page, "10,all")
    expect(verdict(page)).to_contain_text("watching")
    [_, verb] = console.pids()
    console.end(signal.SIGKILL)
    until("the verb ends by itself", lambda: is_over(verb), 30)
    assert len(worker.bodies) == 10
    assert accounts.visible() == MEANT - 10
    again = open_page(begin(Console, accounts).url)
    open_queue(again, letters=MEANT - 10)
    retry(again, "all")
    ended(again, "Done.")
    assert len(worker.orders()) == len(worker.bodies) == MEANT


def test_the_rest_is_retried_after_page_and_verb_were_killed(page, worker, accounts, console, begin, open_page):
    retry(page, "all", wait="2s")
    page.evaluate(AT_WORK)
    for pid in reversed(console.pids()):
        os.kill(pid, signal.SIGKILL)
    accounts.all_return()
    left = accounts.messages()
    assert 0 < left < MEANT, "they were killed in the middle"
    again = open_page(begin(Console, accounts).url)
    open_queue(again, letters=left)
    retry(again, "all")
    expect(verdict(again)).to_have_class(re.compile("done|dead"))
    until("all are handled", lambda: len(worker.orders()) == MEANT)
    assert accounts.messages() == 0
    more = len(worker.bodies) - MEANT
    named = again.get_by_role("region", name="What the command says").inner_text().count("possible duplicate")
    assert more <= named <= 40
