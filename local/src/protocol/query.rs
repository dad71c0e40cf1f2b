//! What a service says in the query protocol.

/// The query protocol of a service: a form in, XML out.
/// <https://smithy.io/2.0/aws/protocols/aws-query-protocol.html>
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) version: &'static str,
    pub(crate) namespace: &'static str,
    /// Whether the elements of lists and maps have the names below and stand in no other element. Otherwise each is a
    /// `member` or an `entry` of its list or map. Of the services here only SQS is flat.
    pub(crate) flat: bool,
    /// The lists with the name of one element, in which `{}` stands for the operation.
    pub(crate) lists: &'static [(&'static str, &'static str)],
    /// The maps, with the names of one entry and of its key.
    pub(crate) maps: &'static [(&'static str, &'static str, &'static str)],
}
