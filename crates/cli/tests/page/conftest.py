"""Drives the pages of `redrive local --ui` and `redrive console` in a headless Chromium.

Every test also checks that no request leaves this machine and that the browser reports no problem.
"""

import http.server
import shutil
import threading
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from command import PATIENCE, Command
from console import Accounts, Console, Worker
from foreign import EVIL

# Chromium has several names for a server that has ended.
GONE = ["ERR_CONNECTION_", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_SOCKET_NOT_CONNECTED"]
EXPECTED = [*GONE, "status of 4", "status of 503"]

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]

expect.set_options(timeout=PATIENCE * 1_000)


def chromium():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert path, f"none of these is installed: {', '.join(BROWSERS)}"
    return path


def pytest_addoption(parser):
    parser.addoption("--binaries", type=Path, required=True, help="the folder of `redrive`, `orders` and `examples`")
    parser.addoption("--pictures", type=Path, help="the folder for pictures of the console, which are taken only then")


@pytest.fixture(scope="session")
def launch():
    """Starts a browser with its own flags."""
    browsers = []

    def launch(*flags):
        browsers.append(playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", *flags]))
        return browsers[-1]

    with sync_playwright() as playwright:
        yield launch
        for browser in browsers:
            browser.close()


@pytest.fixture(scope="session")
def browser(launch):
    return launch()


@pytest.fixture
def start(request, tmp_path):
    """Runs `redrive local --ui` and ends it as Ctrl-C does: with exit code 0."""
    commands = []

    def start(*arguments, **keywords):
        command = Command(request.config.getoption("--binaries").resolve(), tmp_path, arguments, **keywords)
        commands.append(command)
        return command

    yield start
    for command in commands:
        command.stop()
    for command in commands:
        assert command.code == 0, command.said


@pytest.fixture(scope="session")
def binaries(request):
    return request.config.getoption("--binaries").resolve()


def beginning():
    """Starts processes for the console's tests, and ends them, the last one first."""
    with ExitStack() as stack:

        def begin(what, *arguments, **keywords):
            process = what(*arguments, **keywords)
            stack.callback(process.end)
            return process

        yield begin


begin = pytest.fixture(beginning, name="begin")
module_begin = pytest.fixture(beginning, scope="module", name="module_begin")


@pytest.fixture
def accounts(begin, binaries, tmp_path):
    """Starts an account with one queue of letters."""
    return begin(Accounts, binaries, tmp_path / "accounts")


@pytest.fixture
def console(begin, accounts):
    return begin(Console, accounts)


@pytest.fixture
def worker(begin, accounts):
    return begin(Worker, accounts)


@pytest.fixture
def open_page(browser):
    """Opens the page, and afterwards checks the messages of the browser."""
    contexts, complaints = [], []

    def open_page(url, width=1280, height=860, **settings):
        context = browser.new_context(viewport={"width": width, "height": height}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complain(message) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: stay(request.url))
        page.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
        page.goto(url)
        return page

    def complain(message):
        # That the run has ended, or refuses something, is what some tests are about.
        if not any(what in message.text for what in EXPECTED):
            complaints.append(message.text)

    def stay(url):
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1":
            complaints.append(f"a request left this machine: {url}")

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def browser_of_a_victim(launch):
    """Starts a browser that resolves the name to this machine. It does not ask before a site calls it, like some browsers."""
    return launch(f"--host-resolver-rules=MAP {EVIL} 127.0.0.1", "--disable-features=LocalNetworkAccessChecks")


@pytest.fixture
def victim(browser_of_a_victim):
    """Opens a foreign page in its own context."""
    context = browser_of_a_victim.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def site():
    """Returns the port of a server with pages of other sites."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
