//! Lists with a structure of their own: pairs of names and values, and the words of a command.

use serde_json::Value;

use super::names::secrecy;

/// Returns whether every item is a name and its value, as some write headers.
pub(super) fn is_pairs(items: &[Value]) -> bool {
    let is_pair =
        |item: &Value| matches!(item.as_array().map(Vec::as_slice), Some([Value::String(_), _]));
    !items.is_empty() && items.iter().all(is_pair)
}

/// Returns whether the item is the value of the flag before it: `["--password", "…"]`, `["curl", "-u", "ada:…"]`.
pub(super) fn is_flag_value(items: &[Value], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| items[before].as_str());
    let (Some(flag), Some(value)) =
        (before.filter(|word| word.starts_with('-')), items[index].as_str())
    else {
        return false;
    };
    let is_user = matches!(flag, "-u" | "--user" | "--proxy-user" | "-U");
    let is_curl =
        || items.iter().take(3).filter_map(Value::as_str).any(|word| word.contains("curl"));
    !value.starts_with('-')
        && ((is_user && value.contains(':') && is_curl())
            || secrecy(flag.trim_start_matches('-')).is_some())
}
