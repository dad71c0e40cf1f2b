//! Functions in a VPC that may not reach what redrive calls: SQS, and CloudWatch unless their metrics go elsewhere.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-internetwork-traffic-privacy.html>

use super::super::{Function, Mapping, Seen};
use super::look::Notes;
use crate::{Resolver, Resource};

/// Types that may lead out of a VPC, or to endpoints of another one.
const WAYS_OUT: [&str; 5] = [
    "AWS::EC2::Instance",
    "AWS::EC2::NatGateway",
    "AWS::EC2::TransitGatewayAttachment",
    "AWS::EC2::TransitGatewayVpcAttachment",
    "AWS::EC2::VPCPeeringConnection",
];

/// Adds a note for each function without a visible way out. The network may be defined elsewhere, so it is only a note.
pub(super) fn read(
    resolver: &Resolver<'_>,
    (functions, resources): (&[Function], &[Resource]),
    mappings: &[Mapping],
    notes: &Notes,
) {
    let (ways_out, doubtful) = resolver.resources(&WAYS_OUT);
    if !ways_out.is_empty() || !doubtful.is_empty() {
        return;
    }
    let (endpoints, doubtful) = resolver.resources(&["AWS::EC2::VPCEndpoint"]);
    let leads_to = |service: &str| {
        let name = |endpoint: &Resource| endpoint.properties.text_at("ServiceName").map(str::to_owned);
        !doubtful.is_empty() || endpoints.iter().any(|it| name(it).is_none_or(|name| name.ends_with(service)))
    };
    for (function, resource) in functions.iter().zip(resources) {
        let is_fed = mappings.iter().any(|mapping| mapping.function.as_deref() == Some(&function.name));
        let subnets = resource.properties.get("VpcConfig").and_then(|config| config.get("SubnetIds"));
        if !is_fed || !function.may_run_redrive() || subnets.is_none() {
            continue;
        }
        let puts_metrics =
            matches!(function.process.variable("REDRIVE_METRICS"), Seen::Absent | Seen::There("cloudwatch"));
        let called = [(true, "SQS", ".sqs"), (puts_metrics, "CloudWatch", ".monitoring")];
        let unseen: Vec<&str> = called
            .iter()
            .filter(|(is_called, _, service)| *is_called && !leads_to(service))
            .map(|it| it.1)
            .collect();
        if !unseen.is_empty() {
            let what = format!("whether {} reaches {} from its VPC", function.id, unseen.join(" and "));
            notes.add(&function.id, what, "there is neither an endpoint nor a NAT gateway in this template");
        }
    }
}
