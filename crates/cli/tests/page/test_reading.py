"""The page is readable in both themes, on a phone and with a screen reader, for any messages."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from command import ROOT, order

CONTRAST = Path(__file__).with_name("contrast.js").read_text()
DEMO = ["--speed", "max", "--parameter", "MessageTimeLimit=2", "--send", ROOT / "events/demo.jsonl"]
TURNED = "\u202e"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_and_every_mark_stands_out(start, open_page, scheme):
    page = open_page(start(*DEMO).url, color_scheme=scheme)
    expect(page.locator("#row-11")).to_contain_text("dead: redrive policy")
    expect(page.locator(".lamps .ALARM")).not_to_have_count(0)
    page.locator("#axis").select_option("run")
    for number in (1, 4, 9):
        page.locator(f"#row-{number}").click()
        expect(page.get_by_role("heading", name=f"Message #{number}")).to_be_visible()
        found = page.evaluate(CONTRAST)
        assert len(found["texts"]) > 60 and found["texts"][0][0] >= 4.5, found["texts"][:5]
        assert len(found["marks"]) > 20 and found["marks"][0][0] >= 3, found["marks"][:5]
    page.get_by_role("button", name="Send a message").click()
    found = page.evaluate(CONTRAST)["texts"]
    assert found[0][0] >= 4.5, found[:5]


def test_a_lamp_says_what_it_means_and_why(start, open_page):
    page = open_page(start(*DEMO).url)
    lamp = page.locator(".lamps .ALARM").first
    expect(lamp).to_be_visible()
    for attribute in ("title", "aria-label"):
        said = lamp.get_attribute(attribute)
        assert "redrive-DeadLetter is in ALARM since 0:" in said and "Threshold Crossed" in said, said


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_seconds_of_each_wait_are_readable_without_room_on_the_axis(start, open_page, width):
    page = open_page(start(*DEMO).url, width=width)
    row = page.locator("#row-11")
    expect(row).to_contain_text("dead: redrive policy")
    waits = [str(2**doubled) for doubled in range(1, 10)]
    if width >= 390:
        assert [label.split()[0] for label in row.locator(".label").all_text_contents()] == waits
    page.locator("#axis").select_option("run")
    expect(row.locator(".label")).not_to_have_count(9)
    said = ", ".join(f"{wait} s" for wait in waits)
    expect(row).to_have_attribute("title", f"waits: {said}")
    assert said in row.get_attribute("aria-label")


def test_nothing_moves_for_those_who_want_no_motion(start, open_page):
    command = start(messages=[order(1, gateway="hangs")])
    for motion, moves in (("reduce", False), ("no-preference", True)):
        page = open_page(command.url, reduced_motion=motion)
        expect(page.locator(".track .running").first).to_be_visible()
        assert (page.evaluate("document.getAnimations().length") > 0) == moves


@pytest.mark.parametrize("width", [320, 640, 1280])
def test_long_names_and_long_words_are_kept_within_the_page(start, open_page, width):
    groups = [f"{number}" + "long_group_name_" * 7 for number in range(3)]
    messages = [
        {"body": "w" * 5_000, "group_id": group, "deduplication_id": group, "attributes": {"n" * 200: "v" * 2_000}}
        for group in groups
    ]
    page = open_page(start("--speed", "max", "--parameter", "Fifo=true", messages=messages).url, width=width, height=600)
    expect(page.locator("#row-1")).to_contain_text("dead: malformed")
    expect(page.locator("#groups")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("""() => {
        const name = document.createRange();
        name.selectNodeContents(document.querySelector('[data-tile=dead] h2'));
        const { right, bottom } = name.getBoundingClientRect();
        const chips = [...document.querySelectorAll('[data-tile=dead] .reasons button')].map((chip) => chip.getBoundingClientRect());
        return chips.length > 0 && chips.every(({ left, top }) => left >= right || top >= bottom);
    }"""), "a reason covers the name of its tile"
    page.locator("#row-1").click()
    detail = page.locator("#detail")
    expect(detail).to_contain_text("v" * 2_000)
    assert detail.evaluate("(it) => it.scrollWidth - it.clientWidth") <= 0


def test_invisible_characters_of_a_message_are_shown_by_their_numbers(start, open_page):
    body = f"{TURNED}live\u0085 \U0001F469\u200d\U0001F4BB"
    page = open_page(start(messages=[{"body": body, "attributes": {"name": f"a{TURNED}b"}}]).url)
    shown = "\\u202elive\\u0085 \U0001F469\u200d\U0001F4BB"
    expect(page.locator("#row-1 .body")).to_have_text(shown)
    page.locator("#row-1").click()
    expect(page.locator("#detail pre")).to_have_text(shown)
    expect(page.locator("#detail")).to_contain_text("a\\u202eb")
    page.get_by_role("button", name="Send a copy").click()
    expect(page.get_by_role("textbox", name="Body")).to_have_value(body)


def test_zoomed_to_the_double_everything_can_be_reached(start, open_page):
    page = open_page(start(*DEMO).url, width=640, height=430, device_scale_factor=2)
    expect(page.locator("#row-1")).to_contain_text("done")
    for name, turned in (("Hold the clock", 0), ("Send a message", 0), ("Save as picture", 3_000)):
        page.mouse.move(5, 5)
        page.mouse.wheel(0, turned)
        expect(page.get_by_role("button", name=name)).to_be_in_viewport()
    assert page.locator("#messages").bounding_box()["height"] > 200
    page.get_by_role("button", name="Send a message").click()
    page.get_by_role("button", name="Send", exact=True).scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_in_viewport()
