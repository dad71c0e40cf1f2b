"""100,000 letters in 201 dead-letter queues of three accounts."""

import http.client
import http.server
import re
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from console import LARGE, Accounts, Console, open_queue

ACCOUNTS, QUEUES = 3, 67

SCROLL = """async () => {
    const view = document.querySelector('.viewport');
    const [tasks, frames] = [[], []];
    const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)));
    observer.observe({ type: 'longtask' });
    let before = performance.now();
    for (let step = 0; step < 150; step += 1) {
        view.scrollTop = (view.scrollHeight - view.clientHeight) * step / 149;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        frames.push(now - before);
        before = now;
    }
    observer.disconnect();
    frames.sort((a, b) => a - b);
    return { median: frames[75], most: Math.max(0, ...tasks), rows: document.querySelectorAll('.row').length };
}"""


@pytest.fixture(scope="module")
def accounts(module_begin, binaries, tmp_path_factory):
    return module_begin(Accounts, binaries, tmp_path_factory.mktemp("many"), ACCOUNTS, QUEUES, 100_000)


def test_the_first_screen_has_all_queues(begin, accounts, open_page):
    began = time.monotonic()
    page = open_page(begin(Console, accounts).url)
    expect(page.get_by_role("link", name="orders-dead", exact=True)).to_be_visible()
    print(f"the first screen appeared after {time.monotonic() - began:.2f} s")
    expect(page.locator(".sum")).to_have_text(re.compile(r"^\d+ of 201 dead-letter queues have 1\d\d,\d\d\d letters\.$"))


def test_the_first_screen_costs_few_requests(begin, accounts, open_page, tmp_path):
    counts = Counter()
    config = accounts.config.read_text()
    with proxies(accounts.endpoints, counts) as urls:
        for endpoint, url in zip(accounts.endpoints, urls):
            config = config.replace(endpoint, url)
        (tmp_path / "config").write_text(config)
        page = open_page(begin(Console, accounts, config=tmp_path / "config").url)
        expect(page.get_by_role("link", name="orders-dead", exact=True)).to_be_visible()
    print(counts.most_common())
    assert ACCOUNTS * QUEUES < counts.total() <= 5 * ACCOUNTS * QUEUES, counts
    assert not any("Receive" in name or "Send" in name or "Delete" in name for name in counts), counts


def test_5012_letters_are_scrolled_in_few_rows_and_in_little_memory(begin, accounts, open_page):
    console = begin(Console, accounts)
    measured, over = [], threading.Event()
    watcher = threading.Thread(target=watch, args=(console, measured, over))
    watcher.start()
    page = open_page(console.url)
    open_queue(page, letters=LARGE)
    over.set()
    watcher.join()
    # The first look at a process may be before it began its program, with the memory of the command.
    most = sorted(sum(sizes) for sizes in measured)[-2] / 1024
    [peak] = [int(line.split()[1]) / 1024 for line in open(f"/proc/{console.process.pid}/status") if line.startswith("VmHWM")]
    print(f"{peak:.0f} MiB, with the verb {most:.0f} MiB")
    assert max(map(len, measured)) == 2 and peak < 100 and most < 100, (peak, most)
    scrolled = page.evaluate(SCROLL)
    print(scrolled)
    assert scrolled["rows"] < 100
    view = page.get_by_role("listbox")
    view.focus()
    page.keyboard.press("End")
    expect(page.locator(".row.chosen")).to_have_attribute("aria-posinset", str(LARGE))


def watch(console, measured, over):
    """Measures the memory of the command and its verbs in KiB until `over`. Shared pages, such as the program, count once in all."""
    while not over.wait(0.05):
        with suppress(OSError):
            texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in console.pids()]
            measured.append([int(re.search(r"^Pss: +(\d+)", text, re.MULTILINE)[1]) for text in texts if text])


class proxies:
    """Starts a proxy in front of each endpoint that counts requests."""

    def __init__(self, endpoints, counts):
        self.servers = [self.proxy(urlsplit(endpoint).netloc, counts) for endpoint in endpoints]

    def proxy(self, target, counts):
        class Proxy(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                counts[self.headers["x-amz-target"] or self.path] += 1
                connection = http.client.HTTPConnection(target, timeout=30)
                connection.request("POST", self.path, body, {**self.headers, "host": target})
                response = connection.getresponse()
                answer = response.read()
                self.send_response(response.status)
                for name, value in response.headers.items():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                connection.close()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def __enter__(self):
        return [f"http://127.0.0.1:{server.server_port}" for server in self.servers]

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
