"""A run that stops and starts again, several pages of a run, and readers that do not read."""

import os
import signal
import socket
from urllib.parse import urlsplit

from playwright.sync_api import expect

from command import order

LOST = "No connection to redrive local"


def port(command):
    return urlsplit(command.url).port


def memory(process):
    """Returns the current memory in MiB."""
    with open(f"/proc/{process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_a_run_that_is_silent_for_a_while_is_said_to_be_and_goes_on(start, open_page):
    command = start("--speed", "60", messages=[order(1)])
    page = open_page(command.url)
    expect(page.locator("#row-1")).to_contain_text("done")
    command.process.send_signal(signal.SIGSTOP)
    try:
        expect(page.locator("#state")).to_contain_text(LOST)
        stood = page.locator("#simulated").inner_text()
        page.wait_for_timeout(1_500)
        assert page.locator("#simulated").inner_text() == stood
    finally:
        command.process.send_signal(signal.SIGCONT)
    expect(page.locator("#state")).to_be_empty()
    command.post("messages", {"queue": "redrive-orders", "body": "no order"})
    expect(page.locator("#row-2")).to_contain_text("dead: malformed")


def test_a_page_goes_on_with_the_next_run_and_forgets_the_one_before(start, open_page):
    first = start("--speed", "max", messages=[order(1), {"body": "no order"}])
    page = open_page(first.url)
    expect(page.locator("#row-2")).to_contain_text("dead: malformed")
    page.locator("#row-2").click()
    expect(page.get_by_role("heading", name="Message #2")).to_be_visible()
    first.kill()
    expect(page.locator("#state")).to_contain_text(LOST)
    page.get_by_role("button", name="Retry this dead letter").click()
    expect(page.locator("#state")).to_have_text("No connection to redrive.")
    expect(page.locator("#state")).to_contain_text("continues when the connection is back")
    start(str(port(first)), "--speed", "max", messages=[order(7), order(8), order(9)])
    expect(page.locator("#row-3")).to_contain_text("A-9")
    expect(page.locator(".row")).to_have_count(3)
    expect(page.locator("#state")).to_be_empty()
    expect(page.locator("#detail")).to_be_hidden()
    expect(page.locator(".row[aria-selected=true]")).to_have_count(0)


def test_a_page_that_was_one_too_many_is_let_in_when_there_is_room(start, open_page):
    command = start(messages=[order(1)])
    readers = [read(command) for _ in range(16)]
    page = open_page(command.url)
    expect(page.locator("#state")).to_contain_text(LOST)
    for reader in readers:
        reader.close()
    expect(page.locator("#row-1")).to_be_visible()
    expect(page.locator("#state")).to_be_empty()


def test_an_action_on_one_page_shows_on_the_others(start, open_page):
    command = start("--speed", "600")
    pages = [open_page(command.url) for _ in range(3)]
    command.post("messages", {"queue": "redrive-orders", "body": "no order"})
    for page in pages:
        expect(page.locator("#row-1")).to_contain_text("dead: malformed")
    pages[0].get_by_role("button", name="Hold the clock").click()
    pages[1].get_by_role("button", name="Release the clock").click()
    expect(pages[2].get_by_role("button", name="Hold the clock")).to_be_visible()
    pages[2].locator("#row-1").click()
    pages[2].get_by_role("button", name="Retry this dead letter").click()
    for page in pages:
        expect(page.locator("#row-1")).to_contain_text("retried as #2")


def read(command):
    """Requests the events, and reads none."""
    reader = socket.create_connection(("127.0.0.1", port(command)), timeout=10)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    reader.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port(command)}\r\n\r\n".encode())
    return reader


def test_readers_that_do_not_read_take_no_memory(start, open_page):
    messages = [order(number, gateway={"down_for": 9}) for number in range(2_000)]
    command = start("--parameter", "BatchSize=1000", "--parameter", "BatchingWindow=1", messages=messages)
    page = open_page(command.url)
    expect(page.get_by_role("button", name="Queued 0")).to_be_visible()
    readers = [read(command) for _ in range(12)]
    before = memory(command.process)
    command.post("clock", {"speed": "max"})
    expect(page.get_by_role("button", name="Done 2000")).to_be_visible()
    grown = memory(command.process) - before
    for reader in readers:
        reader.close()
    print(f"{grown:.0f} MiB more while 12 readers do not read")
    # What happens is kept once, and each of them waits with one piece of it: with a backlog each it is several times as much.
    assert grown < 100
