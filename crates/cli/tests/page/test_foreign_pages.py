"""Pages of other sites in the browser of a user of `redrive local`: none can call the AWS on this machine.

A site is foreign if its port or its name differs, or if DNS rebinding leads its name to this machine.
"""

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from command import order
from foreign import EVIL, READ, rebind

# Each way that a page has to make a request without being allowed to. Those that change something make a queue, named
# after the way; the image does what the proof did. A way is over when the browser says so, or after two seconds.
ATTACKS = """async ([target, letters]) => {
    const over = (element, ...events) => new Promise((resolve) => {
        for (const event of events) element.addEventListener(event, resolve);
        setTimeout(resolve, 2_000);
    });
    const add = (name, properties) => document.body.appendChild(Object.assign(document.createElement(name), properties));
    const create = (name) => new URLSearchParams({ Action: 'CreateQueue', Version: '2012-11-05', QueueName: name });
    const patience = () => ({ signal: AbortSignal.timeout(2_000) });
    const read = [];
    const ask = async (path, options) => {
        try { read.push(await (await fetch(target + path, { ...patience(), ...options })).text()); } catch { /* as it should */ }
    };
    await ask('/', { method: 'POST', body: create('by-fetch') });
    await ask('/', { method: 'POST', mode: 'no-cors', body: create('by-blind-fetch') });
    await ask('/?' + create('by-get'));
    await ask('/?' + create('by-blind-get'), { mode: 'no-cors', referrerPolicy: 'no-referrer' });
    await ask('/_redrive/skip', { method: 'POST', mode: 'no-cors', body: '86400' });
    await ask('/', { method: 'POST', body: '{}', headers: { 'x-amz-target': 'AmazonSQS.ListQueues' } });
    navigator.sendBeacon(target + '/', create('by-beacon'));
    for (const method of ['get', 'post']) {
        const frame = add('iframe', { name: `for-${method}` });
        const form = add('form', { method, action: target + '/', target: frame.name });
        for (const [name, value] of create(`by-form-${method}`)) form.append(Object.assign(document.createElement('input'), { name, value }));
        const loaded = over(frame, 'load');
        form.submit();
        await loaded;
    }
    await over(add('img', { src: `${letters}?Action=DeleteQueue&Version=2012-11-05` }), 'load', 'error');
    await over(add('script', { src: `${target}/?${create('by-script')}` }), 'load', 'error');
    await over(add('iframe', { src: `${target}/?${create('by-frame')}` }), 'load', 'error');
    await over(add('link', { rel: 'stylesheet', href: `${target}/?${create('by-link')}` }), 'load', 'error');
    return read.filter((text) => text !== '');
}"""

FORM = {"content-type": "application/x-www-form-urlencoded"}


def ask(command, operation, **body):
    headers = {"x-amz-target": f"AmazonSQS.{operation}", "content-type": "application/x-amz-json-1.0"}
    request = urllib.request.Request(command.endpoint, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def queues(command):
    return sorted(url.rsplit("/", 1)[-1] for url in ask(command, "ListQueues")["QueueUrls"])


def now(command):
    """Returns the time on the clock of the run, in seconds."""
    with urllib.request.urlopen(f"{command.endpoint}/_redrive/skip", b"0", timeout=10) as response:
        return float(response.read())


def function_of(command):
    """Returns the only process of the only function."""
    threads = Path(f"/proc/{command.process.pid}/task").iterdir()
    [process] = [child for thread in threads for child in (thread / "children").read_text().split()]
    return process


def runtime_api(command):
    environment = Path(f"/proc/{function_of(command)}/environ").read_text()
    api = re.search(r"AWS_LAMBDA_RUNTIME_API=([^\0]+)", environment).group(1)
    return urlsplit(api if "//" in api else f"//{api}")


@pytest.mark.parametrize("own_host", ["127.0.0.1", "localhost", EVIL])
@pytest.mark.parametrize("target_host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"])
def test_a_foreign_page_changes_nothing_and_reads_nothing(start, victim, site, own_host, target_host):
    command = start()
    before, began = queues(command), now(command)
    letters = next(url for url in ask(command, "ListQueues")["QueueUrls"] if "dead" in url.lower())
    target = command.endpoint.replace("127.0.0.1", target_host)
    victim.goto(f"http://{own_host}:{site}/")
    read = victim.evaluate(ATTACKS, [target, letters.replace("127.0.0.1", target_host)])
    # Beacons are sent on their own time: the endpoint has seen this one when it is back.
    victim.wait_for_timeout(300)
    assert read == []
    assert queues(command) == before
    assert now(command) - began < 3_600


def test_a_name_that_has_come_to_mean_this_machine_opens_no_endpoint(start, victim):
    command = start()
    before, began = queues(command), now(command)
    port = urlsplit(command.endpoint).port
    rebind(victim, port)
    create = "Action=CreateQueue&Version=2012-11-05&QueueName=evil"
    json_of = lambda target: {"x-amz-target": target, "content-type": "application/x-amz-json-1.1"}
    answers = victim.evaluate(READ, [
        ["/?Action=ListQueues&Version=2012-11-05", {}, None],
        ["/?" + create, {}, None],
        ["/", FORM, create],
        ["/", json_of("AmazonSQS.ListQueues"), "{}"],
        ["/", json_of("Logs_20140328.DescribeLogGroups"), "{}"],
        ["/", FORM, "Action=GetTemplate&Version=2010-05-15&StackName=redrive"],
        ["/2015-03-31/functions/redrive-orders", {}, None],
        ["/2015-03-31/event-source-mappings", {}, None],
        ["/_redrive/skip", {}, "86400"],
    ])
    for status, text in answers:
        assert status == 403 and text.startswith(f'host "{EVIL}:{port}" is not ') and text.count("\n") == 1, text
    assert queues(command) == before
    assert now(command) - began < 3_600


def test_a_name_that_has_come_to_mean_this_machine_opens_no_page(start, victim):
    command = start()
    port = urlsplit(command.url).port
    response = victim.goto(f"http://{EVIL}:{port}/")
    assert response.status == 403
    rebind(victim, port)
    message = json.dumps({"queue": "redrive-orders", "body": "{}"})
    asked = [["/app.js", {}, None], ["/events", {}, None], ["/messages", {"content-type": "application/json"}, message]]
    assert [status for status, _ in victim.evaluate(READ, asked)] == [403, 403, 403]


def test_no_page_takes_an_invocation(start, open_page, victim, site):
    command = start("--speed", "60", messages=[order(1)])
    page = open_page(command.url)
    expect(page.locator("#row-1")).to_contain_text("done")
    api = runtime_api(command)
    assert len(api.path) > 30, "nobody can guess it"
    routes = ["/2018-06-01/runtime/invocation/next", f"{api.path}/2018-06-01/runtime/invocation/next"]
    victim.goto(f"http://{EVIL}:{site}/")
    blind = """async (urls) => Promise.all(urls.map((url) =>
        fetch(url, { mode: 'no-cors', signal: AbortSignal.timeout(2_000) }).then(() => 'answered', (error) => error.name)))"""
    answered = victim.evaluate(blind, [f"http://127.0.0.1:{api.port}{route}" for route in routes])
    assert answered == ["TypeError", "TypeError"], "each is refused at once: none waits for an invocation"
    rebind(victim, api.port)
    answers = victim.evaluate(READ, [[route, {}, None] for route in routes])
    assert [status for status, _ in answers] == [403, 403]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{api.port}{routes[0]}", timeout=10)
    for number in range(2, 5):
        command.post("messages", {"queue": "redrive-orders", **order(number), "body": json.dumps(order(number)["body"])})
        expect(page.locator(f"#row-{number}")).to_contain_text("done")
    assert page.locator(".row .mark.failed").count() == 0
