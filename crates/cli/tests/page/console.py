"""Runs `redrive console` for accounts of redrive-local, with real consumers."""

import http.client
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request
import uuid
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/#key=([0-9a-f]{32})")
# How long anything that ends by itself may take.
PATIENCE = 180
LARGE, MEANT = 5_012, 834
ACCOUNT = "1" * 12


class Process:
    """A process, which ends with the test at the latest."""

    def __init__(self, *words, env=None, stdin=None, log=None):
        self.process = subprocess.Popen(words, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=log, text=True)

    def line(self):
        """Returns the first line that it prints."""
        line = self.process.stdout.readline()
        assert line, f"{self.process.args} ended with {self.process.wait(PATIENCE)}"
        return line

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait(PATIENCE)


def restored(source):
    """Returns the note of `redrive dlq import`, with the name of the letter's source queue."""
    note = {"reason": "redrive-policy", "error": "", "exception": "", "attempts": 3, "failed_at": "2026-01-01T00:00:00Z",
            "source": f"arn:aws:sqs:eu-west-1:{ACCOUNT}:{source}", "message_id": str(uuid.uuid4())}
    return {"redrive.dead-letter": ("String", json.dumps(note))}


class Accounts(Process):
    """Accounts with queues and letters, as crates/local/examples/accounts.rs describes them."""

    def __init__(self, binaries, folder, accounts=1, queues=1, letters=LARGE):
        self.folder, self.binaries = folder, binaries
        folder.mkdir(exist_ok=True)
        super().__init__(binaries / "examples/accounts", folder, *map(str, (accounts, queues, letters)), stdin=subprocess.PIPE)
        assert self.line() == "ready\n"
        self.config = folder / "config"
        self.endpoints = re.findall(r"endpoint_url = (\S+)", self.config.read_text())

    def end(self, how=None):
        self.process.stdin.close()
        return super().end(how or signal.SIGTERM)

    def env(self, config=None, state="state"):
        names = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_PROFILE")
        env = {name: value for name, value in os.environ.items() if name not in names}
        return env | {
            "AWS_CONFIG_FILE": str(config or self.config), "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
            "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "XDG_STATE_HOME": str(self.folder / state),
        }

    def run(self, *words):
        """Runs a verb of the command in the first account."""
        env = self.env() | {"AWS_PROFILE": "account1"}
        return subprocess.run([self.binaries / "redrive", *words], env=env, capture_output=True, text=True, timeout=PATIENCE)

    def ask(self, operation, queue, **body):
        """Calls SQS in the first account."""
        headers = {"x-amz-target": f"AmazonSQS.{operation}", "content-type": "application/x-amz-json-1.0"}
        body |= {"QueueUrl": f"{self.endpoints[0]}/{ACCOUNT}/{queue}"}
        request = urllib.request.Request(self.endpoints[0], json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.loads(response.read() or "{}")

    def skip(self, seconds):
        """Moves the clock of the first account."""
        urllib.request.urlopen(f"{self.endpoints[0]}/_redrive/skip", str(seconds).encode(), timeout=PATIENCE).close()

    def all_return(self):
        """Waits until no letter is in flight for a second. SQS may carry out calls of a killed command late."""
        quiet, end = 0, time.monotonic() + PATIENCE
        while quiet < 5:
            assert time.monotonic() < end, "letters stay in flight"
            quiet += 1
            if self.messages() != self.visible():
                self.skip(61)
                quiet = 0
            time.sleep(0.2)

    def send(self, body, queue="orders-dead", **attributes):
        typed = {name: {"DataType": kind, "StringValue": value} for name, (kind, value) in attributes.items()}
        return self.ask("SendMessage", queue, MessageBody=body, MessageAttributes=typed)["MessageId"]

    def moved(self, body, queue="orders-dead", **attributes):
        """Sends a letter without a failure, as `redrive dlq import` does if SQS had moved the letter."""
        return self.send(body, queue, **restored("orders"), **attributes)

    def dead_letter(self, body, error, queue="orders-dead", **more):
        note = {"reason": "failed", "error": error, "exception": "Error", "attempts": 3, "failed_at": "2026-01-01T00:00:00Z",
                "source": f"arn:aws:sqs:eu-west-1:{ACCOUNT}:orders", "function": "shop-orders", "message_id": "m-1", **more}
        return self.send(body, queue, **{"redrive.dead-letter": ("String", json.dumps(note))})

    def messages(self, queue="orders-dead"):
        """Returns the number of messages, with those in flight."""
        return self.visible(queue) + self.count(queue, "ApproximateNumberOfMessagesNotVisible")

    def visible(self, queue="orders-dead"):
        return self.count(queue, "ApproximateNumberOfMessages")

    def count(self, queue, name):
        return int(self.ask("GetQueueAttributes", queue, AttributeNames=[name])["Attributes"][name])


class Console(Process):
    def __init__(self, accounts, config=None, state="state"):
        profiles = [word for at in range(len(accounts.endpoints)) for word in ("--profile", f"account{at + 1}")]
        words = (accounts.binaries / "redrive", "console", "--port", "0", *profiles)
        super().__init__(*words, env=accounts.env(config, state), log=subprocess.DEVNULL)
        self.origin, self.key = ADDRESS.search(self.line()).groups()
        self.url = f"{self.origin}/#key={self.key}"

    def ask(self, path, body=None, **headers):
        """Returns the status and the text of an answer. The request has the key unless the headers replace it."""
        sent = {"content-type": "application/json", "x-redrive-key": self.key}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(urlsplit(self.origin).netloc, timeout=PATIENCE)
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, text, {name: value for name, value in sent.items() if value})
        response = connection.getresponse()
        answer = response.status, response.read().decode()
        connection.close()
        return answer

    def pids(self):
        """Returns the process ids of the command and the verbs that it runs."""
        pid = self.process.pid
        with suppress(FileNotFoundError):
            tasks = Path(f"/proc/{pid}/task").iterdir()
            return [pid, *(int(child) for task in tasks for child in (task / "children").read_text().split())]
        return []


class Worker(Process):
    """`redrive work` with an app that keeps each body and its headers, and answers with `status`: 200 done, 422 rejected."""

    def __init__(self, accounts, status=200):
        self.status, self.bodies, self.headers = status, [], []
        worker = self

        class App(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                worker.headers.append({name.lower(): value for name, value in self.headers.items()})
                worker.bodies.append(self.rfile.read(int(self.headers["content-length"])).decode())
                self.send_response(worker.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.app = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
        threading.Thread(target=self.app.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.app.server_port}/"
        words = (accounts.binaries / "redrive", "work", "--queue", "orders", "--http", url)
        super().__init__(*words, env=accounts.env() | {"AWS_PROFILE": "account1"}, log=subprocess.DEVNULL)
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def orders(self):
        """Counts the deliveries of each order."""
        return Counter(json.loads(body)["order_id"] for body in self.bodies)

    def end(self):
        self.app.shutdown()
        return super().end(signal.SIGKILL)


def until(what, is_so, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not within {patience} s"
        time.sleep(0.05)


def open_queue(page, name="orders-dead", letters=None):
    """Opens a queue from the first screen."""
    page.get_by_role("link", name=name, exact=True).click()
    read_all(page, letters)


def read_all(page, letters=None):
    sum = page.locator(".sticky .sum")
    expect(sum).to_have_text(re.compile(rf"^{f'{letters:,}' if letters else '[1-9].*'} letters?$"), timeout=PATIENCE * 1000)


def button(page, verb):
    """Returns the button for the selected letters, else for all letters. Its text names the verb and then the letters."""
    return page.locator(".sticky").get_by_role("button", name=re.compile(rf"^{verb}\b"))


def retry(page, stages, wait="6s", account=ACCOUNT):
    """Retries the selected letters, else all that are shown. Unlocks the account if needed."""
    about_to_retry(page, stages, wait, account).click()


def about_to_retry(page, stages, wait="6s", account=ACCOUNT):
    button(page, "Retry").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Stages").fill(stages)
    dialog.get_by_label("Watch after each stage for").fill(wait)
    return confirmation(dialog, "Retry", account)


def confirm(dialog, button, account=ACCOUNT):
    confirmation(dialog, button, account).click()


def confirmation(dialog, button, account):
    field = dialog.get_by_label("is locked. Type its id to unlock it.")
    if field.is_visible():
        field.fill(account)
    return dialog.get_by_role("button", name=button, exact=True)


def verdict(page):
    """Returns the verdict of the run that the page shows, or is about to show."""
    return page.locator(".run .verdict")


def ended(page, words, timeout=PATIENCE):
    expect(verdict(page)).to_contain_text(words, timeout=timeout * 1000)
