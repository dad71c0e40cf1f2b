"""`redrive dlq triage` in a terminal."""

from .scene import Elsewhere, equal, says
from .terminal import terminal

PROMPT = "q quit: "


def letters_are_sent_deleted_and_left_as_keys_say(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(4)
    with terminal(elsewhere.command("dlq", "triage", "--queue", orders.queue.name)) as shown:
        for at, key in enumerate("rdsq", start=1):
            shown.expect(PROMPT, times=at)
            shown.type(key)
            if key == "d":
                shown.expect("Delete this letter? This cannot be undone. [y/N] ")
                shown.type("y")
        equal(shown.end(), 0, f"the exit code ({shown.shown})")
    says(f"1 sent from {orders.dead.name} to {orders.queue.name}, 1 deleted, ", shown.shown)
    equal(orders.counts(), ((1, 0), (2, 0)), "what is where")
    bodies = orders.queue.bodies() + orders.dead.bodies()
    equal((len(set(bodies)), set(bodies) <= set("0123")), (3, True), f"three of the letters in {bodies}")
