"""What an emulator must write as atomically as DynamoDB does."""

from .once import Table
from .scene import Elsewhere


def of_fifty_workers_one_at_a_time_has_the_key(elsewhere: Elsewhere) -> None:
    Table.of(elsewhere).check("crowd")


def workers_that_share_a_rate_lease_each_token_once(elsewhere: Elsewhere) -> None:
    Table.of(elsewhere).check("rate")
