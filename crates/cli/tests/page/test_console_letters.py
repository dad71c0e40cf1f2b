"""Actions on single letters. A letter cannot affect the page."""

import json
import re

import pytest
from playwright.sync_api import expect

from console import ACCOUNT, Accounts, button, confirm, ended, open_queue, read_all, until

LETTERS = 30
QUEUE = f"arn:aws:sqs:eu-west-1:{ACCOUNT}:orders"
NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script>"
EXACT = '{"id":12345678901234567890123,"price":0.10000000000000000001,"note":"old"}'


@pytest.fixture
def accounts(begin, binaries, tmp_path):
    return begin(Accounts, binaries, tmp_path / "accounts", letters=LETTERS)


@pytest.fixture
def page(open_page, console):
    return open_page(console.url)


def open_letter(page, text):
    page.get_by_role("searchbox", name="Filter letters by text").fill(text)
    expect(page.locator(".row")).to_have_count(1)
    page.locator(".row").click()
    return page.locator("#detail")


def test_a_letter_is_edited_and_the_rest_of_it_stays(page, accounts, worker):
    accounts.moved(EXACT, tenant=("String", "acme"), cents=("Number", "1.50"))
    open_queue(page, letters=LETTERS + 1)
    open_letter(page, "12345678901234567890123").get_by_role("button", name="Edit…").click()
    dialog = page.get_by_role("dialog")
    body = dialog.get_by_label("Body", exact=True)
    assert body.input_value() == EXACT
    changed = EXACT.replace("old", "new")
    body.fill(changed[:-2])
    problem = dialog.locator(".problem")
    confirm(dialog, "Send")
    expect(problem).to_contain_text(re.compile(rf"^Body: .* in JSON at position {len(changed) - 2}"))
    body.fill(changed)
    difference = dialog.get_by_role("region", name="What is changed: Body")
    expect(difference.locator("del")).to_have_text("old")
    expect(difference.locator("ins")).to_have_text("new")
    attributes = dialog.get_by_label("Attributes", exact=True)
    before = attributes.input_value()
    for text, expected in (('{"tenant": {"type": "Word", "value": "acme"}}', "Word"), ('{"tenant": "acme"}', "the attribute tenant: "), ('{"a": ', "Attributes: ")):
        attributes.fill(text)
        confirm(dialog, "Send")
        expect(problem).to_contain_text(expected)
        assert "column 5" not in problem.inner_text(), "a column of what was typed"
        assert (body.input_value(), attributes.input_value()) == (changed, text)
    assert worker.bodies == [] and accounts.messages() == LETTERS + 1
    attributes.fill(before)
    # Nothing that was typed is lost by Esc, however often.
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(dialog.get_by_role("alert").filter(has_text="Your changes are not sent.")).to_be_visible()
    dialog.get_by_role("button", name="Keep editing").click()
    assert body.input_value() == changed
    dialog.get_by_role("button", name="Cancel").click()
    dialog.get_by_role("button", name="Discard the changes").click()
    expect(dialog).to_be_hidden()
    page.locator("#detail").get_by_role("button", name="Edit…").click()
    assert body.input_value() == EXACT
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.locator("#detail").get_by_role("button", name="Edit…").click()
    body.fill(changed)
    confirm(dialog, "Send")
    ended(page, "Done.")
    until("it is handled", lambda: worker.bodies)
    assert worker.bodies == [changed]
    attributes = {name: value for name, value in worker.headers[0].items() if name.startswith("x-aws-sqsd-attr")}
    assert attributes.pop("x-aws-sqsd-attr-redrive.origin")
    assert attributes == {"x-aws-sqsd-attr-tenant": "acme", "x-aws-sqsd-attr-cents": "1.50"}
    assert accounts.messages() == LETTERS


def test_an_edited_letter_keeps_text_that_a_text_area_cannot_hold(page, accounts, worker):
    before = "\ufefftext\r\n soft\u00adhyphen, \u202eright to left\r\n"
    accounts.moved(before, tenant=("String", "acme"))
    open_queue(page, letters=LETTERS + 1)
    dialog = page.get_by_role("dialog")
    open_letter(page, "hyphen").get_by_role("button", name="Edit…").click()
    attributes = dialog.get_by_label("Attributes", exact=True)
    attributes.fill(attributes.input_value().replace("acme", "globex"))
    confirm(dialog, "Send")
    ended(page, "Done.")
    until("it is handled", lambda: worker.bodies)
    assert worker.bodies == [before]
    accounts.moved(before)
    page.get_by_role("link", name="Back to the queue").click()
    read_all(page, LETTERS + 1)
    open_letter(page, "hyphen").get_by_role("button", name="Edit…").click()
    dialog.get_by_label("Body", exact=True).fill(dialog.get_by_label("Body", exact=True).input_value().replace("text", "word"))
    confirm(dialog, "Send")
    ended(page, "Done.")
    until("it is handled", lambda: len(worker.bodies) == 2)
    assert worker.bodies[1] == before.replace("text", "word")


def test_the_selected_letters_are_deleted_and_no_others(page, accounts):
    open_queue(page, letters=LETTERS)
    rows = page.locator(".row")
    chosen = {rows.nth(at).get_attribute("data-id") for at in (1, 3)}
    for at in (1, 3):
        rows.nth(at).locator(".box").click()
    expect(page.locator(".sticky .sum")).to_have_text(f"{LETTERS} letters, 2 selected")
    before = {letter["id"] for letter in listed(accounts)}
    # Also if a filter hides them meanwhile.
    search = page.get_by_role("searchbox", name="Filter letters by text")
    search.fill("no letter has this")
    expect(page.locator(".sticky .sum")).to_have_text(f"0 of {LETTERS} letters, 2 selected")
    for verb in ("Retry", "Export", "Delete"):
        expect(button(page, verb)).to_have_text(re.compile(rf"^{verb} 2 selected \(hidden by the filter\)…?$"))
        expect(button(page, verb)).to_be_enabled()
    search.fill("")
    expect(button(page, "Delete")).to_have_text("Delete 2 selected…")
    search.fill("no letter has this")
    page.get_by_role("button", name="Read again").click()
    expect(button(page, "Delete")).to_have_text("Delete 2 selected (hidden by the filter)…")
    button(page, "Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Delete 2 letters of orders-dead")
    command = f"AWS_CONFIG_FILE={accounts.config} redrive dlq delete --queue {QUEUE} --region eu-west-1 --profile account1 --ids letters.txt --account {ACCOUNT}"
    expect(dialog.locator("code")).to_have_text(re.compile(rf"^{command} --export \S+\.jsonl$"))
    dialog.get_by_role("checkbox").uncheck()
    expect(dialog.locator("code")).to_have_text(command)
    confirm(dialog, "Delete")
    ended(page, "Done.")
    assert {letter["id"] for letter in listed(accounts)} == before - chosen
    assert exported(accounts) == []


def exported(accounts):
    return list((accounts.folder / "state/redrive/exports").glob("*.jsonl"))


def test_all_letters_are_deleted_and_exported_once_their_number_is_typed(page, accounts):
    before = sorted(letter["body"] for letter in listed(accounts))
    open_queue(page, letters=LETTERS)
    expect(button(page, "Delete")).to_have_text(f"Delete all {LETTERS}…")
    button(page, "Delete").click()
    dialog = page.get_by_role("dialog")
    confirm(dialog, "Delete")
    expect(dialog.get_by_role("alert")).to_have_text(f"Type {LETTERS}, the number of letters.")
    assert accounts.messages() == LETTERS
    dialog.get_by_label(f"Type {LETTERS} to delete all of them.").fill(str(LETTERS))
    confirm(dialog, "Delete")
    ended(page, "Done.")
    assert accounts.messages() == 0
    [file] = exported(accounts)
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    ran = accounts.run("dlq", "import", "--queue", "orders", "--yes", str(file))
    assert ran.returncode == 0, ran.stderr
    assert sorted(letter["body"] for letter in listed(accounts)) == before
    page.get_by_role("link", name="Back to the queue").click()
    read_all(page, LETTERS)
    page.get_by_role("searchbox", name="Filter letters by text").fill("timeout")
    expect(button(page, "Delete")).to_have_text(re.compile(r"^Delete \d+ shown…$"))
    button(page, "Delete").click()
    expect(dialog.get_by_label("to delete all of them.")).to_be_visible()


def listed(accounts):
    ran = accounts.run("dlq", "list", "--queue", "orders", "--json")
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_exported_letters_can_be_imported_elsewhere(page, accounts, tmp_path):
    accounts.send(EXACT, tenant=("String", "acme"))
    open_queue(page, letters=LETTERS + 1)
    with page.expect_download() as download:
        button(page, "Export").click()
    assert download.value.suggested_filename == "orders-dead.jsonl"
    file = tmp_path / "letters.jsonl"
    download.value.save_as(file)
    before = sorted((letter["body"], str(letter.get("error"))) for letter in listed(accounts))
    ran = accounts.run("dlq", "import", "--queue", "orders", "--yes", str(file))
    assert ran.returncode == 0, ran.stderr
    after = sorted((letter["body"], str(letter.get("error"))) for letter in listed(accounts))
    assert len(after) == 2 * len(before) and sorted({body for body, _ in after}) == sorted({body for body, _ in before})


def test_the_contents_of_a_letter_are_text(page, accounts):
    bodies = [
        NASTY, "\u202egnp.exe\u202c bidi", "tab\tline\r\nbreak", '{"a": [1, 2', '{"__proto__": {"polluted": 1}, "constructor": "x"}',
        json.dumps({"large": "x" * (256 << 10)})[:256 << 10], '{"html": "</pre><b>bold</b>"}',
    ]
    for body in bodies:
        accounts.dead_letter(body, NASTY, reason=NASTY, exception=NASTY, function=NASTY)
    accounts.moved("plain", name=("String", NASTY))
    open_queue(page, letters=LETTERS + len(bodies) + 1)
    expect(page.locator(".groups .error", has_text=NASTY)).to_be_visible()
    page.get_by_role("searchbox", name="Filter letters by text").fill("onerror")
    expect(page.locator(".row")).to_have_count(len(bodies) + 1)
    shown = set()
    for at in range(len(bodies) + 1):
        page.locator(".row").nth(at).click()
        detail = page.locator("#detail")
        expect(detail).to_be_visible()
        shown.add(detail.locator("pre").inner_text())
        if "Function" in detail.inner_text():
            expect(detail.locator("h3")).to_have_text(NASTY)
            expect(detail.locator(".verdict")).to_have_text(NASTY)
    assert {NASTY, "plain", "\\u202egnp.exe\\u202c bidi", '{"a": [1, 2'} <= shown
    assert any(len(body) >= 256 << 10 for body in shown) and any('"__proto__": {' in body for body in shown)
    assert page.locator("main img, main iframe, main script, main b:not(.groups b)").count() == 0
    assert page.evaluate("({}).polluted === undefined && Object.keys(redrive).length > 0")


def test_controls_behind_an_open_letter_are_unreachable_on_a_phone(open_page, console):
    page = open_page(console.url, width=390, height=844)
    open_queue(page, letters=LETTERS)
    page.locator(".row .error").first.click()
    expect(page.locator("#detail")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || document.activeElement.closest('#detail') !== null")
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    expect(page.get_by_role("listbox")).to_be_focused()
    page.locator(".row .error").first.click()
    page.go_back()
    page.get_by_role("link", name="History", exact=True).focus()
    expect(page.get_by_role("link", name="History", exact=True)).to_be_focused()
