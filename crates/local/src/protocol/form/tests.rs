use serde_json::{Value, json};

use super::*;
use crate::cloudwatch::api as cloudwatch;
use crate::sqs::api as sqs;

fn read(query: &Query, path: &str, body: &str) -> Value {
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8")
        .body(Bytes::copy_from_slice(body.as_bytes()))
        .unwrap();
    let tree = Form::read(&request, request.body()).unwrap().structured(query);
    serde::Deserialize::deserialize(&tree).unwrap()
}

#[test]
fn numbered_parameters_become_lists_and_maps_in_the_order_of_their_numbers() {
    let query = sqs::SERVICE.query.as_ref().unwrap();
    let read = |body: &str| read(query, "/?Tag.9.Key=url", body);
    let url = json!({ "url": "" });
    assert_eq!(
        read("AttributeName.10=c&AttributeName.2=b&AttributeName.1=a&QueueUrl=q"),
        json!({ "AttributeNames": ["a", "b", "c"], "QueueUrl": "q", "Tags": url })
    );
    assert_eq!(
        read("Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Tag.1.Key=k&Tag.1.Value="),
        json!({ "Attributes": { "DelaySeconds": "5" }, "Tags": { "k": "", "url": "" } })
    );
    assert_eq!(
        read(
            "Action=SendMessageBatch&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.DelaySeconds=3\
             &SendMessageBatchRequestEntry.1.MessageAttribute.1.Name=n\
             &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType=String\
             &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue=1%2B+%C3%A9"
        ),
        json!({ "Entries": [{
            "Id": "a",
            "DelaySeconds": "3",
            "MessageAttributes": { "n": { "DataType": "String", "StringValue": "1+ é" } },
        }], "Tags": url })
    );
}

#[test]
fn an_empty_list_or_map_beside_its_elements_says_nothing_more() {
    let query = sqs::SERVICE.query.as_ref().unwrap();
    let body = "AttributeNames=&AttributeName.1=All&Tags=&Tag.1.Key=k&Tag.1.Value=v&Entries=";
    let expected = json!({ "AttributeNames": ["All"], "Entries": "", "Tags": { "k": "v" } });
    assert_eq!(read(query, "/", body), expected);
}

#[test]
fn members_become_lists_in_the_order_of_their_numbers() {
    let body = "Action=PutMetricData&Version=2010-08-01&Namespace=Shop%2FTea&MetricData.member.2.Value=2\
        &MetricData.member.10.Value=10&MetricData.member.1.Dimensions.member.1.Name=Queue&Empty=";
    let expected = json!({
        "Empty": "",
        "MetricData": [{ "Dimensions": [{ "Name": "Queue" }] }, { "Value": "2" }, { "Value": "10" }],
        "Namespace": "Shop/Tea",
    });
    assert_eq!(read(cloudwatch::SERVICE.query.as_ref().unwrap(), "/", body), expected);
}

#[test]
fn a_text_is_a_number_or_an_empty_list_or_map_where_one_is_wanted() {
    let text = |text: &str| Tree::Text(text.to_owned());
    let number = |tree: &Tree| <Option<i64> as serde::Deserialize>::deserialize(tree).ok();
    assert_eq!((number(&text("-7")), number(&text("seven"))), (Some(Some(-7)), None));
    let list: Vec<String> = serde::Deserialize::deserialize(&text("")).unwrap();
    let map: BTreeMap<String, String> = serde::Deserialize::deserialize(&text("")).unwrap();
    assert!(list.is_empty() && map.is_empty());
}

#[test]
fn parameters_of_the_body_override_those_of_the_url() {
    let body = "Action=a&Tag.1.Key=k&Action=b";
    let request = Request::post("/?Action=u&Version=1")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Bytes::new())
        .unwrap();
    let parameter = |name| parameter(&request, body.as_bytes(), name);
    assert_eq!(["Action", "Version", "Tag"].map(parameter), [Some("b".into()), Some("1".into()), None]);
}

#[test]
fn too_many_parameters_and_too_many_parts_of_them_are_refused() {
    let read = |body: String| {
        let request = Request::post("/").header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = request.body(Bytes::from(body)).unwrap();
        Form::read(&request, request.body()).map(drop)
    };
    let parts = |parameters| (0..parameters).map(|number| format!("{number}.a.b.c.d.e.f=&")).collect();
    assert_eq!(read(parts(74_000)), Ok(()));
    assert!(read(parts(76_000)).unwrap_err().ends_with("more than 524288 values"));
    let parameters = "&".repeat(600_000);
    assert_eq!(read(parameters).unwrap_err(), "the input holds more than 524288 values");
}

#[test]
fn nonsense_is_read_as_far_as_it_goes() {
    let deep = "a.".repeat(100_000);
    for service in [sqs::SERVICE.query.as_ref(), cloudwatch::SERVICE.query.as_ref()] {
        for body in ["", "&&=", "Attribute.x.Name=a", "Tag.1.Value=v", "Attribute=a", &deep] {
            assert!(read(service.unwrap(), "/", body).is_object(), "{body}");
        }
    }
}
