import uuid

import pytest

from aws import refusal, refused
from sources import cloudformation, lambda_, logs, source


@pytest.fixture
def functions(aws):
    return aws.client("lambda")


NONE = f"none-{uuid.uuid4().hex[:8]}"
test_a_function_that_is_not_there_is_not_found = refusal(
    f"ResourceNotFoundException: function:{NONE}",
    "functions", lambda functions, operation: getattr(functions, operation)(FunctionName=NONE),
    lambda_("GetFunction"), lambda_("GetFunctionConfiguration"), lambda_("GetFunctionConcurrency"), status=404,
    cases=["get_function", "get_function_configuration", "get_function_concurrency"])


@source(lambda_("ListFunctions"), lambda_("ListEventSourceMappings"))
def test_without_functions_and_mappings_the_lists_are_empty(aws, functions):
    assert functions.list_functions()["Functions"] == []
    listed = functions.list_event_source_mappings(EventSourceArn=aws.queue().arn)
    assert (listed["EventSourceMappings"], listed.get("NextMarker")) == ([], None)


@source(lambda_("ListFunctions"), lambda_("ListEventSourceMappings"))
@pytest.mark.parametrize("most", [0, 10_001])
@pytest.mark.parametrize("operation", ["list_functions", "list_event_source_mappings"])
def test_a_page_has_1_to_10000_items(functions, operation, most):
    refused("ValidationException|InvalidParameterValueException", getattr(functions, operation), MaxItems=most)


@source(lambda_("GetEventSourceMapping"), lambda_("UpdateEventSourceMapping"))
@pytest.mark.parametrize("change", [{}, {"Enabled": False}])
def test_a_mapping_that_is_not_there_is_not_found(functions, change):
    operation = functions.update_event_source_mapping if change else functions.get_event_source_mapping
    refused("ResourceNotFoundException", operation, status=404, UUID=str(uuid.uuid4()), **change)


test_a_log_group_that_is_not_there_is_not_found = refusal(
    "ResourceNotFoundException: The specified log group does not exist",
    "aws", lambda aws, operation: getattr(aws.client("logs"), operation)(logGroupName="/none"),
    logs("FilterLogEvents"), logs("DescribeLogStreams"), cases=["filter_log_events", "describe_log_streams"])


@source(logs("DescribeLogGroups"))
def test_no_log_group_begins_with_what_none_begins_with(aws):
    listed = aws.client("logs").describe_log_groups(logGroupNamePrefix=f"/{uuid.uuid4().hex}")
    assert (listed["logGroups"], listed.get("nextToken")) == ([], None)


test_a_stack_that_is_not_there_is_a_validation_error = refusal(
    "ValidationError: Stack with id none does not exist",
    "aws", lambda aws, operation: getattr(aws.client("cloudformation"), operation)(StackName="none"),
    cloudformation("DescribeStacks"), cloudformation("GetTemplate"), cloudformation("ListStackResources"),
    cases=["describe_stacks", "describe_stack_resources", "get_template", "list_stack_resources"])
test_a_resource_of_no_stack_is_a_validation_error = refusal(
    "ValidationError: Stack for none does not exist", "aws",
    lambda aws: aws.client("cloudformation").describe_stack_resources(PhysicalResourceId="none"),
    cloudformation("DescribeStackResources"))


@source(cloudformation("DescribeStacks"))
def test_without_stacks_the_list_is_empty(aws):
    assert aws.client("cloudformation").describe_stacks()["Stacks"] == []
