"""The page shows events while they happen, and its actions take effect."""

import re

from playwright.sync_api import expect

from command import ROOT, order, script

DEMO = ["--send", ROOT / "events/demo.jsonl", "--parameter", "MessageTimeLimit=2"]


def row(page, number):
    return page.locator(f"#row-{number}")


def test_messages_appear_while_they_are_sent_and_end_as_they_end(start, open_page):
    command = start("--speed", "600")
    page = open_page(command.url)
    expect(page.locator("#empty")).to_contain_text("No messages yet")
    command.post("messages", {"queue": "redrive-orders", "body": '{"order_id":"A-1","lines":[]}'})
    expect(row(page, 1)).to_contain_text("done")
    page.get_by_role("button", name="Send a message").click()
    page.get_by_label("Body").fill('{"order_id":"A-2","lines":[],"gateway":{"down_for":2}}')
    # Its waits are far longer than its attempts, however busy the machine is, so that there is room for their labels.
    backoff = 'redrive.backoff={"kind":"fixed","delay":300}'
    page.get_by_label("Attributes").fill(f"channel=web\nnote=a=b\n{backoff}")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(row(page, 2)).to_contain_text("done, attempt 3")
    expect(row(page, 2).locator(".mark.failed")).to_have_count(2)
    expect(row(page, 2).locator(".label")).to_have_text(["300 s", "300 s"])
    row(page, 2).click()
    expect(page.locator("#detail")).to_contain_text("channelweb")
    expect(page.locator("#detail")).to_contain_text("notea=b")


def test_a_failed_attempt_in_a_batch_ends_before_the_next_one(start, open_page):
    command = start("--speed", "10", "--send", ROOT / "events/demo.jsonl", "--parameter", "MessageTimeLimit=8")
    page = open_page(command.url)
    # Another message of their first batch runs until its time is up.
    expect(row(page, 4)).to_contain_text("done, attempt 2")
    expect(row(page, 6)).to_contain_text("failed 2")
    for number, failures in ((4, 1), (6, 2)):
        expect(row(page, number).locator(".mark.failed")).to_have_count(failures)
        expect(row(page, number).locator(".running")).to_have_count(0)
    expect(row(page, 4).locator(".label")).to_have_text(re.compile("^2( s)?$"))
    expect(row(page, 1)).to_contain_text("running, attempt 1")
    assert any(" #4 " in line and "failed         attempt 1, back in 2 s" in line for line in command.told), command.told


# Measures all parts at once: the page goes on to change, and would move some of them between two measurements.
PLACES = """tile => {
  const place = it => it.getBoundingClientRect().toJSON();
  const part = name => tile.querySelector(name);
  const badge = it => ({ ...place(it), said: it.textContent, cut: it.scrollWidth > it.clientWidth + 1 });
  return { tile: place(tile), chart: place(part('svg')), value: place(part('.value span')), badges: [...tile.querySelectorAll('.reasons button')].map(badge) };
}"""


def test_reasons_of_dead_letters_are_all_there_and_hide_no_chart(start, open_page):
    command = start("--speed", "max", *DEMO)
    for width, height in ((1280, 860), (1000, 700), (390, 844), (320, 640)):
        page = open_page(command.url, width, height)
        expect(page.locator("[data-tile=dead] .reasons button")).to_have_count(4)
        places = page.locator("[data-tile=dead]").evaluate(PLACES)
        tile, chart, value = places["tile"], places["chart"], places["value"]
        assert len(places["badges"]) == 4, places
        for badge in places["badges"]:
            assert badge["width"] > 0 and badge["height"] > 0, (width, badge)
            assert badge["bottom"] <= chart["top"], (width, badge, chart)
            assert tile["left"] <= badge["left"] and badge["right"] <= tile["right"], (width, badge, tile)
            assert badge["left"] >= value["right"] or badge["top"] >= value["bottom"], (width, badge, value)
            assert not badge["cut"], (width, badge)


def test_a_message_that_sqs_refuses_is_refused_in_its_words(start, open_page):
    page = open_page(start().url)
    page.get_by_role("button", name="Send a message").click()
    page.get_by_label("Body").fill("")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("dialog .problem")).to_contain_text("MessageBody")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()


def test_a_dead_letter_shows_its_reason_its_note_and_its_log(start, open_page):
    page = open_page(start("--speed", "max", *DEMO).url)
    expect(row(page, 9)).to_contain_text("dead: card-refused")
    expect(row(page, 11)).to_contain_text("dead: redrive policy")
    expect(page.locator("[data-tile=dead] .value")).to_have_text("4")
    expect(page.locator("[data-tile=dead] .reasons button")).to_have_count(4)
    row(page, 9).click()
    detail = page.locator("#detail")
    expect(detail.locator(".verdict")).to_have_text("dead: card-refused: 1160 cents: card refused")
    expect(detail).to_contain_text("Note on the dead letter")
    expect(detail).to_contain_text("redrive-orders")
    expect(detail.locator("pre")).to_contain_text('"order_id": "A-1009"')
    expect(detail).to_contain_text("phone")
    expect(detail.locator(".logs li")).not_to_have_count(0)
    page.locator("[data-tile=dead] .reasons button", has_text="card-refused").click()
    expect(page.locator(".row")).to_have_count(1)


def test_a_retry_from_the_page_arrives_and_is_done(start, open_page, tmp_path):
    function = script(tmp_path, "second_chance.py")
    command = start("--speed", "max", "--parameter", "MaxReceiveCount=2", messages=[order(1)], function=function)
    page = open_page(command.url)
    expect(row(page, 1)).to_contain_text("dead: redrive policy")
    row(page, 1).click()
    expect(page.locator("#detail .logs")).to_contain_text("was refused")
    page.get_by_role("button", name="Retry this dead letter").click()
    expect(row(page, 2)).to_contain_text("done")
    expect(row(page, 1)).to_contain_text("dead, retried as #2")
    expect(page.get_by_role("button", name="Retry this dead letter")).to_have_count(0)
    expect(page.locator("[data-tile=dead] .value")).to_have_text("0")
    row(page, 2).click()
    expect(page.locator("#detail")).to_contain_text("redrive.origin")


def test_alarms_are_lamps_and_are_said_aloud(start, open_page):
    command = start("--speed", "600")
    page = open_page(command.url)
    lamp = page.get_by_role("button", name=re.compile("Alarm redrive-DeadLetter "))
    expect(lamp).to_have_class(re.compile("OK|INSUFFICIENT_DATA"))
    command.post("messages", {"queue": "redrive-orders", "body": "no order"})
    expect(lamp).to_have_class("ALARM")
    expect(page.get_by_role("alert")).to_contain_text("redrive-DeadLetter goes off")
    lamp.click()
    expect(page.locator(".because")).to_contain_text("Threshold Crossed")


def test_the_clock_is_held_skipped_and_sped_up(start, open_page):
    page = open_page(start(messages=[order(1, gateway="down")]).url)
    expect(row(page, 1)).to_contain_text("back in")
    page.get_by_role("button", name="Hold the clock").click()
    release = page.get_by_role("button", name="Release the clock")
    expect(release).to_have_attribute("aria-pressed", "true")
    # Until then the time of the machine has passed, too.
    expect(row(page, 1)).to_contain_text("back in")
    attempts = int(re.search(r"(\d+) attempt", row(page, 1).get_attribute("aria-label"))[1])
    for attempt in range(attempts + 1, attempts + 4):
        page.get_by_role("button", name="Skip to next retry").click()
        expect(row(page, 1)).to_contain_text(f"failed {attempt}×")
    shown = row(page, 1).locator(".end").inner_text()
    page.wait_for_timeout(1_500)
    expect(row(page, 1).locator(".end")).to_have_text(shown)
    release.click()
    page.get_by_role("radio", name="max").check()
    expect(row(page, 1)).to_contain_text("dead: redrive policy")
    expect(page.locator("#pace")).to_have_text("simulated, waiting skipped")


def test_a_page_that_is_opened_later_shows_everything_and_none_is_needed(start, open_page):
    # Waits that are far longer than attempts have room for their labels, however busy the machine is.
    slow = {"attributes": {"redrive.backoff": '{"delay":60}'}}
    messages = [{**order(number, gateway={"down_for": 3}), **slow} for number in range(5)]
    command = start("--speed", "600", messages=messages)
    first = open_page(command.url)
    expect(row(first, 5)).to_contain_text("A-4")
    first.close()
    second = open_page(command.url)
    for number in range(1, 6):
        expect(row(second, number)).to_contain_text("done, attempt 4")
    expect(row(second, 1).locator(".label")).to_have_text(["60 s", "120 s", "240 s"])
    expect(second.locator(".bars rect.good")).not_to_have_count(0)


def test_invocations_are_chosen_by_the_arrow_keys_and_show_their_messages(start, open_page):
    messages = [order(1, gateway={"down_for": 1}), order(2)]
    page = open_page(start("--speed", "max", messages=messages).url)
    expect(row(page, 1)).to_contain_text("done, attempt 2")
    strip = page.get_by_role("slider")
    strip.focus()
    page.keyboard.press("End")
    expect(page.locator(".reading")).to_contain_text("1 message")
    page.keyboard.press("Enter")
    expect(page.locator(".row")).to_have_count(1)
    expect(row(page, 1)).to_be_visible()


def test_with_until_idle_the_run_ends_and_the_page_reports_it(start, open_page):
    command = start("--speed", "5", "--until-idle", "--json", messages=[order(1, gateway={"down_for": 3})])
    page = open_page(command.url)
    # After the next full minute or two, when the alarms have looked at what happened: 12 to 24 s at this speed.
    expect(page.locator("#state")).to_contain_text("The run has ended: 1 messages, 1 done", timeout=60_000)
    expect(row(page, 1)).to_contain_text("done, attempt 4")
    command.wait()
    assert '"kind":"totals"' in command.told[-1]
    assert not any('"kind":"output"' in line for line in command.told), "what the function writes is for the page only"


def test_a_copy_is_what_the_message_is_with_all_that_it_has(start, open_page):
    command = start("--speed", "max")
    body = "a\r\nb" + "x" * 300_000 + '{"id": 12345678901234567890}'
    attributes = {
        "channel": "web",
        "count": {"type": "Number.int", "value": "7"},
        "lines": 'one\ntwo "quoted"',
        "image": {"type": "Binary", "value": "AP8="},
    }
    first = command.post("messages", {"queue": "redrive-orders", "body": body, "attributes": attributes})["id"]
    page = open_page(command.url)
    row(page, 1).click()
    expect(page.locator("#detail")).to_contain_text("count (Number.int)7")
    page.get_by_role("button", name="Send a copy").click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(row(page, 2)).to_be_visible()
    second = page.evaluate("redrive.store.messages.get(2).id")
    one, other = (command.get(f"message/{id}")["sent"] for id in (first, second))
    assert one == other and one["body"] == body
    assert one["attributes"]["image"] == {"type": "Binary", "value": "AP8="}


def test_a_message_of_which_no_copy_is_kept_is_not_copied(start, open_page):
    command = start("--speed", "max")
    for number in range(66):
        command.post("messages", {"queue": "redrive-orders", "body": f"{number}" + "x" * 1_000_000})
    page = open_page(command.url)
    expect(page.locator("#shown")).to_have_text("66 of 66 messages")
    row(page, 1).click()
    expect(page.locator("#detail")).to_contain_text("Its body is no longer kept.")
    expect(page.get_by_role("button", name="Send a copy")).to_be_disabled()


def test_the_body_of_an_open_message_stays_scrolled_on_a_retry(start, open_page):
    lines = [{"sku": "tea", "quantity": 1} for _ in range(60)]
    page = open_page(start(messages=[{"body": {"order_id": "A", "lines": lines, "gateway": "down"}}]).url)
    expect(row(page, 1)).to_contain_text("failed")
    row(page, 1).click()
    attempts = page.locator("#detail tbody tr")
    expect(attempts).not_to_have_count(0)
    body = page.locator("#detail pre")
    body.evaluate("(it) => { it.scrollTop = 200; it.kept = true; }")
    expect(attempts).not_to_have_count(attempts.count())
    page.wait_for_timeout(300)
    assert body.evaluate("(it) => [it.scrollTop, it.kept]") == [200, True]


def test_attempts_that_are_not_kept_are_counted(start, open_page, tmp_path):
    template = tmp_path / "template.yaml"
    template.write_text((ROOT / "template.yaml").read_text().replace("MaxValue: 20", "MaxValue: 100", 1))
    arguments = ["--template", template, "--speed", "max", "--parameter", "MaxReceiveCount=70"]
    page = open_page(start(*arguments, messages=[order(1)], function=script(tmp_path, "second_chance.py")).url)
    expect(row(page, 1)).to_contain_text("dead: redrive policy")
    row(page, 1).click()
    expect(page.locator("#detail tbody tr")).to_have_count(65)
    expect(page.locator("#detail tbody tr").first).to_have_text("The first 6 are no longer kept.")
    expect(page.locator("#detail tbody tr").nth(1)).to_contain_text("7")
