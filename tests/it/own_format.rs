use redrive::{Attribute, BoxError, FromMessage, Record};

#[derive(Debug, PartialEq)]
enum Change {
    Placed(String),
    Canceled(String),
}

impl FromMessage for Change {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let id = record.body().strip_prefix("id=").ok_or("the body does not begin with `id=`")?.to_owned();
        match record.attributes().get("kind").and_then(Attribute::as_str) {
            Some("placed") => Ok(Self::Placed(id)),
            Some("canceled") => Ok(Self::Canceled(id)),
            _ => Err("the attribute kind is neither placed nor canceled".into()),
        }
    }
}

#[test]
fn a_change_is_read_from_the_body_and_the_attribute_kind() {
    let record = Record::builder().body("id=o-1").attribute("kind", "placed").build();
    assert_eq!(Change::from_message(&record).unwrap(), Change::Placed("o-1".to_owned()));

    let error = Change::from_message(&Record::builder().body("id=o-1").build()).unwrap_err();
    assert_eq!(error.to_string(), "the attribute kind is neither placed nor canceled");
}
