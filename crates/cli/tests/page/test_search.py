"""The text filter searches the whole body, although a row shows only its beginning."""

import re

from playwright.sync_api import expect

from command import order

REST = "hay " * 200


def search(page, text, count):
    page.get_by_role("searchbox").fill(text)
    expect(page.locator(".row")).to_have_count(count)


def test_a_word_is_found_anywhere_in_a_body(start, open_page):
    messages = [
        order(1, note=REST + "Needle of ÄRGER (a.c)", shop={"sku": "matcha"}),
        order(2, note=REST + "thread"),
        {"body": "needle in the beginning"},
        {"body": "x" * 262_000 + "needle"},
    ]
    page = open_page(start("--speed", "max", messages=messages).url)
    expect(page.locator(".row")).to_have_count(4)
    search(page, "needle", 3)
    search(page, "NEEDLE ärger", 1)
    # As rows show JSON, and as it is.
    search(page, "sku: matcha", 1)
    search(page, '"sku":"matcha"', 1)
    search(page, "a.c", 1)
    # No id of a message has an underscore.
    search(page, "a_c", 0)
    expect(page.locator("#empty")).to_have_text("No message matches.")
    search(page, "hay", 2)
    search(page, "needle A-2", 0)
    search(page, "", 4)


def test_a_message_that_comes_later_is_found_as_well(start, open_page):
    command = start("--speed", "max", messages=[order(1, note=REST + "thread")])
    page = open_page(command.url)
    expect(page.locator(".row")).to_have_count(1)
    search(page, "needle", 0)
    expect(page.locator("#empty")).to_have_text("No message matches.")
    for number in range(2, 5):
        command.post("messages", {"queue": "redrive-orders", "body": REST * 2 + "needle" * (number % 2)})
    expect(page.locator(".row")).to_have_count(1)
    expect(page.locator("#row-3")).to_be_visible()


def test_it_is_said_when_bodies_are_not_kept_as_a_whole(start, open_page):
    command = start("--speed", "max")
    for number in range(70):
        command.post("messages", {"queue": "redrive-orders", "body": f"{number} " + "x" * 1_000_000 + "needle"})
    page = open_page(command.url)
    expect(page.locator("#shown")).to_have_text("70 of 70 messages")
    page.get_by_role("searchbox").fill("needle")
    expect(page.locator("#shown")).to_have_text(
        re.compile(r"^\d+ of 70 messages, of \d+ only the beginning of the body is kept$"))
    assert page.evaluate("redrive.list.rows.shown.at(-1).number") == 70


def test_a_search_is_refused_that_is_none(start):
    command = start()
    for wrong in ({}, {"word": ""}, {"word": "x" * 1_001}, {"word": "x", "since": 1}):
        assert command.refusal("search", wrong) == 400, wrong
