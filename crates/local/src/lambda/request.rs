//! Parameters that many operations share.

use serde_json::{Value, json};

use super::Lambda;
use super::error::{RESOURCE_NOT_FOUND, invalid};
use super::function::Function;
use crate::protocol::{Answer, AwsError, Number, Page, RequestContext, VALIDATION, page};

pub(super) type Context<'a> = RequestContext<'a, Lambda>;

impl Context<'_> {
    pub(super) fn function(&self) -> Result<&Function, AwsError> {
        self.find_function(&self.call.subject(), self.call.parameter("Qualifier").as_deref())
    }

    /// Finds a function by its name, its ARN or a part of the ARN, with or without a qualifier. No versions exist here.
    pub(super) fn find_function(&self, text: &str, qualifier: Option<&str>) -> Result<&Function, AwsError> {
        let name = text.rsplit_once("function:").map_or(text, |(_, name)| name);
        let (name, own) = name.split_once(':').map_or((name, None), |(name, own)| (name, Some(own)));
        let qualifier = qualifier.or(own).filter(|qualifier| *qualifier != "$LATEST");
        let qualified = match (self.service.function(name), qualifier) {
            (Some(function), None) => return Ok(function),
            (_, None) => name.to_owned(),
            (_, Some(qualifier)) => format!("{name}:{qualifier}"),
        };
        let arn = self.service.function_arn(&qualified);
        Err(RESOURCE_NOT_FOUND.error(format!("Function not found: {arn}")))
    }

    /// Returns the index of the mapping that the path names.
    pub(super) fn mapping(&self) -> Result<usize, AwsError> {
        let id = self.call.subject();
        let found = self.service.mappings.iter().position(|mapping| mapping.id == id);
        found.ok_or_else(|| RESOURCE_NOT_FOUND.error("The resource you requested does not exist."))
    }

    /// Returns the requested page of a list, under this name, with the marker of the next page.
    pub(super) fn page(&self, name: &str, items: Vec<Value>, most: usize) -> Answer {
        let asked = self.call.parameter("MaxItems").map(|text| {
            let number = text.parse().unwrap_or(f64::MAX);
            VALIDATION.within(Number(number), "maxItems", 1..=10_000)
        });
        let size = asked.transpose()?.map_or(most, |asked| most.min(asked as usize));
        let marker = self.call.parameter("Marker");
        let refused = |marker: &str| invalid(format!("Invalid Marker: {marker}"));
        let Page { items, next_token } = page(items, marker.as_deref(), size, refused)?;
        let mut output = json!({ name: items });
        if let Some(marker) = next_token {
            output["NextMarker"] = json!(marker);
        }
        self.output(&output)
    }
}
