"""Opens pages of other sites, and a page whose name was rebound to this machine."""

# Sends requests from a page whose name was rebound to this machine.
READ = """async (requests) => Promise.all(requests.map(async ([path, headers, body]) => {
    const options = body === null ? {} : { method: 'POST', headers, body };
    try {
        const response = await fetch(path, { ...options, signal: AbortSignal.timeout(3_000) });
        return [response.status, await response.text()];
    } catch { return [0, 'no answer']; }
}))"""

EVIL = "evil.test"


def rebind(page, port, path="/"):
    """Opens a page at this machine's port, as if its name had led to another server until now."""
    url = f"http://{EVIL}:{port}{path}"
    page.route(url, lambda route: route.fulfill(content_type="text/html", body="<!doctype html><title>evil</title>"))
    page.goto(url)
    page.unroute(url)
