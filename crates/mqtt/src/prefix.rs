//! What our topics begin with.

/// The prefix without slashes around it.
///
/// # Errors
/// No topic can begin with it.
pub fn prefix(given: &str) -> Result<&str, PrefixError> {
    let prefix = given.trim_matches('/');
    match prefix.is_empty() || prefix.contains(['+', '#']) {
        true => Err(PrefixError(prefix.to_owned())),
        false => Ok(prefix),
    }
}

/// A prefix that cannot begin a topic.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` cannot begin an MQTT topic: it must not be empty, nor have `+` or `#` in it")]
pub struct PrefixError(String);

#[cfg(test)]
mod tests {
    use super::*;

    // HM-1, HM-2
    #[test]
    fn a_prefix_can_begin_a_topic() {
        assert_eq!(prefix("/home/zwave/").unwrap(), "home/zwave");
        for wrong in ["", "/", "a/#", "+/a"] {
            assert!(prefix(wrong).unwrap_err().to_string().contains("cannot begin an MQTT topic"));
        }
    }
}
