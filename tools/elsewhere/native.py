"""`--native`: the move task of AWS."""

from .scene import Elsewhere, equal, same


def aws_moves_all_letters_itself(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(12)
    orders.retry("--native")
    equal(orders.counts(), ((12, 0), (0, 0)), "what is where")
    same(orders.queue.bodies(), [str(at) for at in range(12)], "what arrived")


def the_move_tasks_of_aws_are_listed(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.run("retry", "--native", "--status")


def a_move_that_is_not_confirmed_or_cannot_be_leaves_every_letter(elsewhere: Elsewhere) -> None:
    """Whether the emulator has move tasks or not."""
    orders = elsewhere.orders()
    orders.write(3)
    orders.run("retry", "--native", code=2)
    orders.run("retry", "--native", "--dry-run")
    orders.run("retry", "--native", "--cancel", code=1)
    equal(orders.counts(), ((0, 0), (3, 0)), "what is where")
