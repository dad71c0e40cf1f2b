"""The page refuses other sites, by any means of a browser."""

import http.client
import http.server
import json
import re
import threading
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from command import order, script

JSON = {"Content-Type": "application/json"}
NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script>"
# What SQS takes for a group has no spaces.
NASTY_GROUP = NASTY.replace(" ", "/")
MESSAGE = json.dumps({"queue": "redrive-orders", "body": "{}"})


def status(url, method="GET", path="/", headers=(), body=None):
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    headers = {"Host": place.netloc, "Content-Length": str(len(body or "")), **dict(headers)}
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders((body or "").encode())
    response = connection.getresponse()
    connection.close()
    return response.status, response.headers


def test_a_foreign_host_and_a_foreign_origin_are_refused_everywhere(start):
    url = start().url
    own = url.rstrip("/")
    for path in ["/", "/app.js", "/events", "/message/x"]:
        assert status(url, path=path, headers={"Host": "evil.example"})[0] == 403, path
        for origin in ["http://evil.example", "null", f"{own}0", own.replace("http:", "https:")]:
            assert status(url, path=path, headers={"Origin": origin})[0] == 403, (path, origin)
            socket = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "x"}
            assert status(url, path=path, headers={"Origin": origin, **socket})[0] == 403, (path, origin)
        assert status(url, path=path, headers={"Sec-Fetch-Site": "cross-site"})[0] == 403, path
        assert status(url, path=path, headers={"Sec-Fetch-Site": "same-site"})[0] == 403, path
    for path in ["/messages", "/retry", "/clock", "/search"]:
        for origin in ["http://evil.example", "null"]:
            assert status(url, "POST", path, {**JSON, "Origin": origin}, MESSAGE)[0] == 403, (path, origin)
        assert status(url, "POST", path, {**JSON, "Host": "evil.example"}, MESSAGE)[0] == 403, path
        assert status(url, "POST", path, {"Content-Type": "text/plain"}, MESSAGE)[0] == 415, path
        assert status(url, "OPTIONS", path, {"Origin": own})[0] == 405, path
    assert status(url, "POST", "/messages", {**JSON, "Origin": own}, MESSAGE)[0] == 201


def test_each_answer_is_protected(start):
    url = start().url
    for path in ["/", "/app.js", "/nothing"]:
        headers = status(url, path=path)[1]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
        assert headers["Access-Control-Allow-Origin"] is None


@pytest.fixture
def elsewhere(tmp_path):
    """Starts another site on this machine, on another port."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("<!doctype html><title>elsewhere</title>")

    class Site(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=tmp_path / "site")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def test_a_page_of_another_site_can_neither_send_nor_read_nor_frame(start, browser, elsewhere):
    command = start()
    page = browser.new_page()
    page.goto(elsewhere)
    tried = page.evaluate("""async ([url, message]) => {
        const tell = (promise) => promise.then(() => 'went through', () => 'failed');
        const json = { 'content-type': 'application/json' };
        const heard = new Promise((resolve, reject) => {
            const source = new EventSource(url + 'events');
            source.onmessage = resolve;
            source.onerror = () => { source.close(); reject(); };
        });
        const frame = document.createElement('iframe');
        frame.src = url;
        document.body.append(frame);
        await new Promise((resolve) => { frame.onload = resolve; });
        return {
            read: await tell(fetch(url + 'app.js')),
            send: await tell(fetch(url + 'messages', { method: 'POST', headers: json, body: message })),
            // It may be sent, but not be read: what counts is that no message comes of it.
            blind: await tell(fetch(url + 'messages', { method: 'POST', mode: 'no-cors', body: message })),
            listen: await tell(heard),
            framed: frame.contentDocument !== null,
            frames: frame.contentWindow.length,
        };
    }""", [command.url, MESSAGE])
    assert tried == {"read": "failed", "send": "failed", "blind": "failed", "listen": "failed", "framed": False, "frames": 0}
    page.close()
    assert not any("sent" in line for line in command.told)


def test_the_contents_of_a_message_are_text(start, open_page):
    page = open_page(start(messages=[{"body": NASTY, "attributes": {"name": NASTY}}, order(2)]).url)
    expect(page.locator("#row-1 .body")).to_have_text(NASTY)
    page.locator("#row-1").click()
    expect(page.locator("#detail pre")).to_have_text(NASTY)
    expect(page.locator("#detail")).to_contain_text("name" + NASTY)
    assert_all_is_text(page)
    page.get_by_role("button", name="Send a copy").click()
    expect(page.get_by_role("textbox", name="Body")).to_have_value(NASTY)
    assert_all_is_text(page)


def test_groups_reasons_notes_and_logs_are_text(start, open_page, tmp_path):
    function = script(tmp_path, "nasty.py")
    message = {"body": "{}", "group_id": NASTY_GROUP, "deduplication_id": "1", "attributes": {"name": NASTY}}
    page = open_page(start("--speed", "60", "--parameter", "Fifo=true", messages=[message], function=function).url)
    expect(page.locator("#row-1")).to_contain_text(f"dead: {NASTY_GROUP}")
    expect(page.locator("[data-tile=dead] .reasons button")).to_contain_text(NASTY_GROUP)
    expect(page.locator("#groups option", has_text=NASTY_GROUP)).to_have_count(1)
    page.locator("#row-1").click()
    detail = page.locator("#detail")
    expect(detail.locator(".verdict")).to_have_text(f"dead: {NASTY_GROUP}: {NASTY_GROUP}")
    expect(detail).to_contain_text("Note on the dead letter")
    for part in ("reason", "error", "exception", "function"):
        expect(detail).to_contain_text(re.compile(part + re.escape(NASTY_GROUP), re.IGNORECASE))
    expect(detail.locator(".logs")).to_contain_text(f"of {NASTY_GROUP}")
    assert_all_is_text(page)
    page.locator("#groups select").select_option(NASTY_GROUP)
    page.locator("[data-tile=dead] .reasons button").click()
    expect(page.locator(".row")).to_have_count(1)
    page.get_by_role("button", name="Retry this dead letter").click()
    expect(page.locator("#row-2")).to_contain_text(f"dead: {NASTY_GROUP}")
    assert_all_is_text(page)


def assert_all_is_text(page):
    """Checks that markup is shown as text. `open_page` checks that no dialog opens and the policy blocks nothing."""
    assert page.locator("img, iframe, body script").count() == 0


def test_no_html_can_be_made_of_strings(start, browser):
    page = browser.new_page()
    page.goto(start().url)
    refused = page.evaluate("""() => {
        try { document.body.innerHTML = '<p>'; return false; } catch { return true; }
    }""")
    page.close()
    assert refused, "the policy forbids it"
