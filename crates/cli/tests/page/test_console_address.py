"""The address of a view, and links to it."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from console import ACCOUNT, Accounts, button, open_queue

LETTERS = 60
PATH = f"#/queue/{quote(f'arn:aws:sqs:eu-west-1:{ACCOUNT}:orders-dead', safe='')}"

# A frame is drawn between the last letter and the end of the answer.
LATE_END = """
    const { read } = ReadableStreamDefaultReader.prototype;
    const frame = () => new Promise(requestAnimationFrame);
    ReadableStreamDefaultReader.prototype.read = async function () {
        const answer = await read.call(this);
        if (answer.done) await frame().then(frame);
        return answer;
    };
"""


@pytest.fixture(scope="module")
def accounts(module_begin, binaries, tmp_path_factory):
    return module_begin(Accounts, binaries, tmp_path_factory.mktemp("address"), letters=LETTERS)


def test_a_reload_back_and_a_link_show_what_was_shown(open_page, console):
    page = open_page(console.url)
    open_queue(page, letters=LETTERS)
    page.get_by_role("textbox", name="Add a condition").fill("body.cents >= 100")
    page.get_by_role("button", name="Add condition").click()
    expect(page.get_by_role("button", name="Remove body.cents >= 100")).to_be_visible()
    expect(page.locator(".sticky .sum")).to_have_text(re.compile(r"^\d+ letters$"))
    page.locator(".groups button").first.click()
    page.get_by_role("searchbox", name="Filter letters by text").fill("order_id")
    for at in (0, 1):
        page.locator(".row .box").nth(at).click()
    page.get_by_role("searchbox", name="Filter letters by text").fill("order_id 1")
    expect(button(page, "Delete")).to_have_text(re.compile("^Delete 2 selected"))

    def shown(page):
        expect(page.get_by_role("button", name="Remove body.cents >= 100")).to_be_visible()
        expect(button(page, "Delete")).to_have_text(re.compile("^Delete 2 selected"))
        expect(page.locator(".groups button").first).to_have_attribute("aria-pressed", "true")
        expect(page.get_by_role("searchbox", name="Filter letters by text")).to_have_value("order_id 1")
        return page.locator(".sticky .sum").inner_text(), button(page, "Delete").inner_text()

    before = shown(page)
    page.wait_for_url(re.compile(r"text=order_id\+1&id=.*&id="))
    page.add_init_script(LATE_END)
    page.reload()
    assert shown(page) == before
    page.locator(".viewport").focus()
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{console.origin}/#/")
    page.go_back()
    assert shown(page) == before
    other = open_page(console.url)
    expect(other.get_by_role("link", name="orders-dead", exact=True)).to_be_visible()
    other.goto(page.url)
    assert shown(other) == before


def test_a_link_of_another_site_is_followed_after_a_question(console, victim, site):
    def follow(path):
        victim.goto(f"http://127.0.0.1:{site}/")
        victim.evaluate("(href) => document.body.appendChild(Object.assign(document.createElement('a'), { href, textContent: 'runbook' }))", console.origin + path)
        victim.get_by_text("runbook").click()

    victim.goto(console.url)
    expect(victim.get_by_role("link", name="orders-dead", exact=True)).to_be_visible()
    follow(f"/{PATH}")
    expect(victim.get_by_role("heading")).to_have_text("Open this page of the redrive console?")
    expect(victim.locator("pre")).to_have_text(f"/queue/arn:aws:sqs:eu-west-1:{ACCOUNT}:orders-dead")
    victim.get_by_role("link", name="Open the page").click()
    expect(victim.locator(".sticky .sum")).to_have_text(f"{LETTERS} letters")
    assert victim.url.startswith(f"{console.origin}/{PATH}")
    # Nothing else of the page answers a link.
    follow("/api/fleet")
    expect(victim.locator("body")).to_contain_text("sec-fetch-site")
