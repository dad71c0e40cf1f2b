//! How the query protocol names what JSON writes as a list or a map.
//!
//! A form numbers the elements (`Attribute.1.Name`), XML repeats them. The names are those of the service model of
//! SDKs that spoke the query protocol, such as botocore up to 1.31.80.

/// Members that are lists, with the name of one element.
const LISTS: [(&str, &str); 9] = [
    ("AWSAccountIds", "AWSAccountId"),
    ("Actions", "ActionName"),
    ("AttributeNames", "AttributeName"),
    ("MessageAttributeNames", "MessageAttributeName"),
    ("MessageSystemAttributeNames", "MessageSystemAttributeName"),
    ("Messages", "Message"),
    ("QueueUrls", "QueueUrl"),
    ("Results", "ListMessageMoveTasksResultEntry"),
    ("TagKeys", "TagKey"),
];

/// Members that are maps, with the name of one entry and that of its key; its value is always `Value`.
const MAPS: [(&str, &str, &str); 4] = [
    ("Attributes", "Attribute", "Name"),
    ("MessageAttributes", "MessageAttribute", "Name"),
    ("MessageSystemAttributes", "MessageSystemAttribute", "Name"),
    ("Tags", "Tag", "Key"),
];

const NUMBERS: [&str; 6] = [
    "DelaySeconds",
    "MaxNumberOfMessages",
    "MaxNumberOfMessagesPerSecond",
    "MaxResults",
    "VisibilityTimeout",
    "WaitTimeSeconds",
];

/// The list that a numbered parameter is an element of.
pub(super) fn list_of(element: &str) -> Option<&'static str> {
    if element.ends_with("RequestEntry") {
        return Some("Entries");
    }
    LISTS.iter().find(|(_, name)| *name == element).map(|(member, _)| *member)
}

/// The map that a numbered parameter is an entry of, and the name of its key.
pub(super) fn map_of(element: &str) -> Option<(&'static str, &'static str)> {
    MAPS.iter().find(|(_, name, _)| *name == element).map(|(member, _, key)| (*member, *key))
}

/// What one element of a list is called in the answer of an operation.
pub(super) fn element_of(member: &str, operation: &str) -> String {
    match member {
        "Successful" => format!("{operation}ResultEntry"),
        "Failed" => "BatchResultErrorEntry".to_owned(),
        "queueUrls" => "QueueUrl".to_owned(),
        _ => LISTS.iter().find(|(list, _)| *list == member).map_or(member, |(_, element)| element).to_owned(),
    }
}

/// What one entry of a map is called, and its key; none if the member is no map.
pub(super) fn entry_of(member: &str) -> Option<(&'static str, &'static str)> {
    MAPS.iter().find(|(map, ..)| *map == member).map(|(_, entry, key)| (*entry, *key))
}

pub(super) fn is_number(member: &str) -> bool {
    NUMBERS.contains(&member)
}
