"""Calls the pure functions of the page in the browser."""

import json

import pytest
from playwright.sync_api import expect

CALL = """async ([module, name, values]) => (await import(module))[name](...values)"""

EMPTY = {"number": 1, "id": "a", "queue": "q", "at": 0, "body": "{}", "attempts": [], "earlier": 0}


@pytest.fixture
def call(start, open_page):
    page = open_page(start().url)
    expect(page.locator("#flow")).to_contain_text("redrive-orders")

    def call(module, name, *arguments):
        return page.evaluate(CALL, [module, name, list(arguments)])

    return call


def attempt(number, at, ended=None, outcome="failed", wait=None):
    optional = {"ended": ended, "wait": wait}
    return {"attempt": number, "at": at, "outcome": outcome, **{k: v for k, v in optional.items() if v is not None}}


def message(*attempts, **more):
    return {**EMPTY, "attempts": list(attempts), **more}


@pytest.mark.parametrize("given, now, state, text", [
    (message(), 0, "queued", "queued"),
    (message(delayed_until=5), 1, "waiting", "back in 4 s, delayed"),
    (message(attempt(1, 1, outcome="running")), 2, "running", "running, attempt 1"),
    (message(attempt(1, 1, 2, wait=8)), 3, "waiting", "back in 7 s, failed 1×"),
    (message(attempt(1, 1, 2, wait=8)), 10, "queued", "queued again, failed 1×"),
    (message(attempt(2, 1, 2, "done"), end={"kind": "done", "at": 2}), 9, "done", "done, attempt 2"),
    (message(end={"kind": "dead", "at": 2, "reason": "panic"}), 9, "dead", "dead: panic"),
    (message(end={"kind": "dead", "at": 2, "reason": "panic"}, retried_as=7), 9, "retried", "dead, retried as #7"),
    (message(attempt(1, 1, 2), end={"kind": "lost", "at": 2}), 9, "lost", "deleted although it failed"),
    (message(end={"kind": "filtered_out", "at": 2}), 9, "gone", "filtered out"),
])
def test_a_message_is_told_in_a_few_words(call, given, now, state, text):
    assert call("/message.js", "stateOf", given, now) == state
    assert call("/message.js", "standing", given, now) == text


def test_times_are_told_as_people_do(call):
    assert [call("/clock.js", "span", seconds) for seconds in (0.25, 2.04, 59.6, 250, 3600, 7500)] == \
        ["250 ms", "2 s", "1 min", "4 min 10 s", "1 h", "2 h 5 min"]
    assert call("/clock.js", "stamp", 3723.9) == "1:02:03"


def test_a_body_is_told_without_its_punctuation(call):
    assert call("/message.js", "brief", '{"order_id":"A-1","lines":[{"sku":"tea"}]}') == "order_id: A-1, lines: sku: tea"
    assert call("/message.js", "brief", 'say "hi", [you]') == 'say "hi", [you]'


def test_json_is_told_on_lines_and_in_its_own_words(call):
    body = '{"id":12345678901234567890,"id":1.0,"none":[],"a":[{"b":"}, \\\\\\" {"}]}'
    assert call("/json.js", "pretty", body) == """{
  "id": 12345678901234567890,
  "id": 1.0,
  "none": [],
  "a": [
    {
      "b": "}, \\\\\\" {"
    }
  ]
}"""
    for value in [{"a": [1, [2, []], {}], "b": {"c": {}}}, [[], [{}]], None, "x", [[1]], {"a": {"b": [{"c": 1}]}}]:
        assert call("/json.js", "pretty", json.dumps(value)) == call("/json.js", "pretty", json.dumps(value, indent=4))
        assert json.loads(call("/json.js", "pretty", json.dumps(value))) == value
    deep = "[" * 3_000 + "]" * 3_000
    for other in ["no json", '{"a":', deep]:
        assert call("/json.js", "pretty", other) == other


def test_attributes_are_lines_and_back(call):
    attributes = {name: {"type": kind, "value": value} for name, kind, value in [
        ("plain", "String", "a=b:c"), ("count", "Number", "1e3"), ("lines", "String", "one\ntwo\r"), ("quoted", "String", '"x"'),
    ]}
    lines = call("/attributes.js", "toLines", attributes)
    assert lines.split("\n") == ["plain=a=b:c", "count:Number=1e3", 'lines="one\\ntwo\\r"', 'quoted="\\"x\\""']
    assert call("/attributes.js", "fromLines", lines) == attributes
    assert call("/attributes.js", "fromLines", ' a = b \n\nc="open') == {
        "a": {"type": "String", "value": " b "}, "c": {"type": "String", "value": '"open'}}


def test_doubling_waits_are_equally_far_from_each_other_on_the_axis_of_ages(call):
    ticks = call("/scale.js", "ageScale", 1000, 800)["ticks"]
    places = {tick["text"]: tick["at"] for tick in ticks}
    assert places["0"] == 9 and max(places.values()) <= 791
    assert abs((places["10 min"] - places["5 min"]) - (places["5 min"] - places["2 min"]) * 0.756) < 2
    assert all(after["at"] - before["at"] > 38 for before, after in zip(ticks, ticks[1:]))


def test_outages_less_than_two_minutes_apart_are_one_band(call):
    samples = [{"at": at, "outages": outages} for at, outages in [(0, 0), (10, 3), (70, 4), (90, 4), (131, 5), (400, 5), (500, 6)]]
    assert call("/charts.js", "outageBands", samples, 560) == [[10, 131], [500, 560]]
    assert call("/charts.js", "outageBands", samples, 700) == [[10, 131], [500, 500]]


def test_errors_are_counted_by_the_minute(call):
    samples = [{"at": at, "errors": errors} for at, errors in [(0, 0), (10, 5), (65, 6), (130, 6), (131, 9)]]
    assert call("/charts.js", "perMinute", samples) == \
        [[0, 0], [10, 5], [65, 6], [70, 1], [125, 0], [131, 3], [131, 3]]
