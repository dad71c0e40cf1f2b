"""What the emulators are known to lack. A check that passes in spite of its gap fails, so that the table stays true."""

from .result import Gaps

NO_TRACE = ("SendMessageBatch drops system attributes", "the trace header that arrived: None instead of ")
NO_TASKS = "no move tasks"
NOT_OF_AWS = "the response is not from AWS"

GAPS: Gaps = {
    ("MiniStack", "the_trace_header_survives"): NO_TRACE,
    ("MiniStack", "a_dead_letter_queue_alone_leads_to_its_queue"): (
        "no ListDeadLetterSourceQueues",
        "The action ListDeadLetterSourceQueues is not valid",
    ),
    ("MiniStack", "aws_moves_all_letters_itself"): (NO_TASKS, "The action StartMessageMoveTask is not valid"),
    ("MiniStack", "the_move_tasks_of_aws_are_listed"): (NO_TASKS, "The action ListMessageMoveTasks is not valid"),
    ("moto", "the_trace_header_survives"): NO_TRACE,
    ("moto", "aws_moves_all_letters_itself"): (NO_TASKS, NOT_OF_AWS),
    ("moto", "the_move_tasks_of_aws_are_listed"): (NO_TASKS, NOT_OF_AWS),
    ("moto", "only_the_attached_queue_may_use_a_new_dead_letter_queue"): ("no RedriveAllowPolicy", "who may use it: {} "),
    ("moto", "a_worker_handles_the_orders_of_a_group_one_after_the_other"): (
        "messages of a group that were hidden come back in another order",
        "the orders that were charged: ",
    ),
    ("moto", "a_status_reads_every_part"): ("no CBOR, which CloudWatch speaks", NOT_OF_AWS),
}
