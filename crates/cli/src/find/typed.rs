//! Formats flags as typed, for the next command. Pure.

use crate::aws::Place;
use crate::shell::word;

/// Formats ` --queue orders --region eu-west-1`, with a space before each flag, and quotes for a shell if needed.
pub(super) fn typed<const N: usize>(which: [(&str, &Option<String>); N], place: &Place) -> String {
    let place =
        [("region", &place.region), ("profile", &place.profile), ("endpoint-url", &place.endpoint_url)];
    let given = which.into_iter().chain(place);
    given.filter_map(|(flag, value)| Some(format!(" --{flag} {}", word(value.as_deref()?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_is_for_the_same_queue_in_the_same_place() {
        let place = Place { region: Some("eu-west-1".to_owned()), ..Place::default() };
        let stack = Some("shop".to_owned());
        assert_eq!(typed([("queue", &None), ("stack", &stack)], &place), " --stack shop --region eu-west-1");
        let place = Place { profile: Some("it's $HOME".to_owned()), ..Place::default() };
        assert_eq!(typed([("stack", &stack)], &place), r" --stack shop --profile 'it'\''s $HOME'");
        assert_eq!(typed([], &Place::default()), "");
    }
}
