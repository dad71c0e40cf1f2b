"""Each view of the console, on a screen and on a phone, in both themes. With `--pictures FOLDER`, each is also saved there."""

import json
import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect

from console import ACCOUNT, Accounts, Console, Worker, button, open_queue

LETTERS = 240
ARN = f"arn:aws:sqs:eu-west-1:{ACCOUNT}:orders-dead"
AXE = """async () => (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`)}`)"""


@pytest.fixture(scope="module")
def console(module_begin, binaries, tmp_path_factory):
    """Starts a console with a stopped run and a finished one."""
    accounts = module_begin(Accounts, binaries, tmp_path_factory.mktemp("views"), 2, 6, LETTERS)
    accounts.dead_letter(json.dumps({"long": "a word without a space " + "x" * 300}), "gave up: " + "y" * 300, reason="r" * 80)
    accounts.moved(json.dumps({"order_id": "A-1", "lines": [{"sku": "tea", "quantity": 1}]}), tenant=("String", "acme" * 20))
    # So that CloudWatch has values.
    for _ in range(15):
        accounts.skip(180)
    console = module_begin(Console, accounts)
    worker = module_begin(Worker, accounts, status=422)
    assert console.ask("/api/unlock", {"queue": ARN, "account": ACCOUNT})[0] == 200
    retry(console, 200, 1)
    worker.status = 200
    retry(console, 30, 0)
    worker.end()
    fleet = json.loads(console.ask("/api/fleet?fresh")[1])["fleet"]
    other = next(queue["arn"] for queue in fleet["queues"] if queue["letters"] > 0 and queue["arn"] != ARN)
    assert console.ask("/api/snooze", {"queue": other, "for": "1d", "reason": "the fix is in review"})[0] == 200
    return console


def retry(console, count, code):
    """Retries this many letters, and expects this exit code."""
    # Those that came back did so by the clock of the account, after the start of any run.
    lines = console.ask("/api/letters", {"queue": ARN, "where": ["reason != http-422"]})[1].splitlines()
    ids = [json.loads(line)["letter"]["id"] for line in lines if line.startswith('{"letter"')]
    status, text = console.ask("/api/runs", {"verb": "retry", "queue": ARN, "ids": ids[:count], "stages": "10,all", "wait": "2s"})
    assert status == 201, text
    for _ in range(200):
        progress = json.loads(text)["progress"]
        if progress["ended"] is not None:
            break
        text = console.ask(f"/api/runs/{json.loads(text)['number']}?after={progress['version']}")[1]
    assert progress["ended"] == code, progress


def views(page, console):
    """Visits all views, and yields their names."""
    expect(page.get_by_role("link", name="orders-dead", exact=True)).to_be_visible()
    yield "queues"
    open_queue(page)
    expect(page.locator("figure").first).to_be_visible()
    yield "queue"
    page.get_by_role("textbox", name="Add a condition").fill("body.tenant exists")
    page.get_by_role("button", name="Add condition").click()
    expect(page.get_by_role("button", name="Remove body.tenant exists")).to_be_visible()
    expect(page.locator(".sticky .sum")).to_have_text(re.compile("letters$"))
    page.locator(".groups button").first.click()
    page.locator(".row .box").nth(1).click()
    yield "letters"
    page.locator(".row").nth(2).locator(".error").click()
    expect(page.locator("#detail")).to_be_visible()
    yield "letter"
    page.locator("#detail").get_by_role("button", name="Edit…").click()
    expect(page.get_by_role("dialog").locator("code")).to_be_visible()
    yield "edit"
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Close").click()
    for verb in ("Retry", "Delete"):
        button(page, verb).click()
        expect(page.get_by_role("dialog").locator("code")).to_be_visible()
        yield verb.lower()
        page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Keys and help").click()
    yield "help"
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.goto(f"{console.origin}/#/runs/1")
    expect(page.locator(".verdict.dead")).to_be_visible()
    yield "stopped"
    page.goto(f"{console.origin}/#/runs/2")
    expect(page.locator(".verdict.done")).to_be_visible()
    yield "done"
    page.get_by_role("link", name="Errors", exact=True).click()
    page.get_by_role("button", name="Receive up to ten letters of each queue").click()
    expect(page.locator(".groups .group").first).to_be_visible()
    expect(page.locator(".sum")).to_have_text(re.compile("received$"))
    yield "errors"
    page.get_by_role("link", name="History", exact=True).click()
    expect(page.locator(".past tbody tr").first).to_be_visible()
    yield "history"
    page.get_by_role("link", name="Queues", exact=True).click()
    shared = page.get_by_role("list", name="Errors in several queues")
    expect(shared.get_by_role("listitem").first).to_contain_text(re.compile(r"-dead \(\d+\)"))
    orders = page.get_by_role("row").filter(has=page.get_by_role("link", name="orders-dead", exact=True))
    expect(orders).to_contain_text(re.compile(r"\d+ of \d+, seen \d+ s ago"))
    expect(orders.get_by_role("img", name=re.compile("shop-orders .LATEST deployed"))).to_be_visible()
    yield "seen"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height", [(1280, 860), (390, 844)])
def test_axe_finds_nothing_and_nothing_is_cut_off(request, console, open_page, width, height, scheme):
    pictures = request.config.getoption("--pictures")
    page = open_page(console.url, width, height, color_scheme=scheme, reduced_motion="reduce")
    page.evaluate(AXE_SCRIPT)
    found = []
    for name in views(page, console):
        if pictures:
            page.screenshot(path=pictures / f"{name}-{width}-{scheme}.png")
        found += [f"{name}: {fault}" for fault in page.evaluate(AXE)]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{name}: wider than the screen")
    assert found == []
