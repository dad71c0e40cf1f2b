"""10,000 messages: those out of view cost nothing."""

from playwright.sync_api import expect

from command import order

MANY = 10_000
# A batch of a thousand, so that the function is not what takes the time.
LARGE = ["--speed", "max", "--parameter", "BatchSize=1000", "--parameter", "BatchingWindow=1"]

SCROLL = """async () => {
    const view = document.querySelector('#messages');
    const times = [];
    let before = performance.now();
    for (let step = 0; step < 120; step += 1) {
        view.scrollTop = (view.scrollHeight - view.clientHeight) * step / 119;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - before);
        before = now;
    }
    times.sort((a, b) => a - b);
    return { median: times[60], most: times.at(-1), rows: document.querySelectorAll('.row').length };
}"""


def test_ten_thousand_messages_are_scrolled_filtered_and_told_without_choking(start, open_page):
    messages = [order(number, **({"gateway": "refuses"} if number % 500 == 0 else {})) for number in range(MANY)]
    page = open_page(start(*LARGE, messages=messages).url)
    expect(page.locator("#shown")).to_have_text(f"{MANY} of {MANY} messages", timeout=120_000)
    while_they_run = page.evaluate(SCROLL)
    expect(page.get_by_role("button", name=f"Done {MANY - 20}")).to_be_visible(timeout=180_000)
    at_rest = page.evaluate(SCROLL)
    print(f"frames while they run {while_they_run}, at rest {at_rest}")
    # Generous, since whatever else this machine does takes its share.
    assert while_they_run["median"] < 100 and at_rest["median"] < 50, (while_they_run, at_rest)
    assert at_rest["rows"] < 60
    assert page.evaluate("document.querySelectorAll('*').length") < 4_000
    expect(page.locator(f"#row-{MANY}")).to_be_visible()
    assert page.locator(f"#row-{MANY}").get_attribute("aria-setsize") == str(MANY)
    page.get_by_role("button", name="Dead 20").click()
    expect(page.locator("#shown")).to_have_text(f"20 of {MANY} messages")
    page.get_by_role("searchbox").fill("A-500,")
    expect(page.locator(".row")).to_have_count(1)
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
    print(f"heap {heap:.0f} MiB")
    assert heap < 150
