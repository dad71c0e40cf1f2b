"""The console requires its key, and changes only unlocked accounts. Pages of other sites can do nothing."""

import json
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from console import ACCOUNT, Accounts, Console, button, open_queue
from foreign import EVIL, READ, rebind

LETTERS = 12
QUEUE = f"arn:aws:sqs:eu-west-1:{ACCOUNT}:orders-dead"
PATHS = ["/api/fleet", f"/api/queue?arn={QUEUE}", "/api/history", "/api/runs/1"]
VERBS = [
    {"verb": "retry", "stages": "all"}, {"verb": "delete"}, {"verb": "edit", "document": '{"body":{},"attributes":{}}'},
]

# What a page of another site tries. A way is over when the browser says so, or after two seconds.
ATTACKS = """async ([target, action]) => {
    const over = (element, ...events) => new Promise((resolve) => {
        for (const event of events) element.addEventListener(event, resolve);
        setTimeout(resolve, 2_000);
    });
    const add = (name, properties) => document.body.appendChild(Object.assign(document.createElement(name), properties));
    const read = [];
    const ask = async (path, options) => {
        try { read.push(await (await fetch(target + path, { signal: AbortSignal.timeout(2_000), ...options })).text()); } catch { /* as it should */ }
    };
    await ask('/');
    await ask('/app.js', { mode: 'no-cors' });
    await ask('/api/fleet', { headers: { 'x-redrive-key': '0'.repeat(32) } });
    await ask('/api/runs', { method: 'POST', mode: 'no-cors', body: action });
    await ask('/api/unlock', { method: 'POST', headers: { 'content-type': 'application/json' }, body: action });
    navigator.sendBeacon(target + '/api/runs', new Blob([action], { type: 'text/plain' }));
    const frame = add('iframe', { name: 'form' });
    const form = add('form', { method: 'post', enctype: 'text/plain', action: target + '/api/runs', target: 'form' });
    form.append(Object.assign(document.createElement('input'), { name: action, value: '' }));
    const loaded = over(frame, 'load');
    form.submit();
    await loaded;
    const image = add('img', { src: target + '/favicon.svg' });
    await over(image, 'load', 'error');
    await over(add('script', { src: target + '/app.js', type: 'module' }), 'load', 'error');
    const own = add('iframe', { src: target + '/' });
    await over(own, 'load', 'error');
    return { read: read.filter((text) => text !== ''), image: image.naturalWidth, framed: own.contentDocument !== null, frames: own.contentWindow.length };
}"""


@pytest.fixture(scope="module")
def accounts(module_begin, binaries, tmp_path_factory):
    return module_begin(Accounts, binaries, tmp_path_factory.mktemp("foreign"), letters=LETTERS)


@pytest.fixture(scope="module")
def ids(accounts):
    ran = accounts.run("dlq", "list", "--queue", "orders", "--json")
    return [json.loads(line)["id"] for line in ran.stdout.splitlines()]


@pytest.fixture(autouse=True)
def all_letters_stay(accounts):
    yield
    assert accounts.messages() == LETTERS and accounts.messages("orders") == 0


def unlocked(console):
    status, text = console.ask("/api/fleet")
    assert status == 200 and json.loads(text)["runs"] == []
    return json.loads(text)["unlocked"]


@pytest.mark.parametrize("own_host", ["127.0.0.1", EVIL])
@pytest.mark.parametrize("target_host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_a_foreign_page_reads_and_changes_nothing(console, victim, site, ids, own_host, target_host):
    assert console.ask("/api/unlock", {"queue": QUEUE, "account": ACCOUNT})[0] == 200
    victim.goto(f"http://{own_host}:{site}/")
    target = console.origin.replace("127.0.0.1", target_host)
    tried = victim.evaluate(ATTACKS, [target, json.dumps({"verb": "delete", "queue": QUEUE, "ids": ids})])
    victim.wait_for_timeout(300)
    assert tried == {"read": [], "image": 0, "framed": False, "frames": 0}
    assert unlocked(console) == [ACCOUNT], "no run began"


def test_a_name_that_has_come_to_mean_this_machine_opens_nothing(console, victim, ids):
    port = urlsplit(console.origin).port
    assert victim.goto(f"http://{EVIL}:{port}/").status == 403
    rebind(victim, port)
    action = json.dumps({"verb": "delete", "queue": QUEUE, "ids": ids})
    # Not even with the key.
    headers = {"content-type": "application/json", "x-redrive-key": console.key}
    asked = [["/app.js", {}, None], ["/api/unlock", headers, json.dumps({"queue": QUEUE, "account": ACCOUNT})], ["/api/runs", headers, action]]
    assert [status for status, _ in victim.evaluate(READ, asked)] == [403, 403, 403]
    assert unlocked(console) == []


def test_the_key_is_needed_for_all_but_the_files(console, ids):
    posts = [("/api/runs", {"verb": "delete", "queue": QUEUE, "ids": ids}), ("/api/unlock", {"queue": QUEUE, "account": ACCOUNT}), ("/api/lock", {}),
             ("/api/letters", {"queue": QUEUE}), ("/api/errors", {}), ("/api/command", {}), ("/api/runs/1/stop", {})]
    for key in ("", "0" * 32, console.key[:-1], console.key.upper() + "0"):
        for path, body in [*((path, None) for path in PATHS), *posts]:
            status, text = console.ask(path, body, x_redrive_key=key)
            assert status == 401 and "orders" not in text, (path, key)
    assert console.ask("/", x_redrive_key="")[0] == 200
    for path, body in posts:
        assert console.ask(path, body, content_type="text/plain")[0] == 415, path
        assert console.ask(path, body, origin="http://evil.test")[0] == 403, path
    assert unlocked(console) == []


def test_nothing_is_changed_in_an_account_that_is_locked(console, ids, open_page):
    def refused(verb):
        status, text = console.ask("/api/runs", {**verb, "queue": QUEUE, "ids": ids[:1]})
        assert "is locked" in text, text
        return status

    assert [refused(verb) for verb in VERBS] == [403, 403, 403]
    page = open_page(console.url)
    open_queue(page, letters=LETTERS)
    button(page, "Retry").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Type its id").fill("222222222222")
    dialog.get_by_role("button", name="Retry", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text(f'account is "222222222222", allowed: {ACCOUNT}, the account of orders-dead')
    assert unlocked(console) == []
    assert console.ask("/api/unlock", {"queue": QUEUE, "account": ACCOUNT})[0] == 200
    page.reload()
    page.get_by_role("button", name=f"Lock {ACCOUNT}").click()
    expect(page.get_by_role("button", name=f"Lock {ACCOUNT}")).to_be_hidden()
    assert [refused(verb) for verb in VERBS] == [403, 403, 403]
    assert unlocked(console) == []
