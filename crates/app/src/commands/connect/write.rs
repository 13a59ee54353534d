//! Puts an entry into a client's config, or removes it; comments, order and formatting of the rest stay.

use anyhow::{anyhow, bail};
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstRootNode},
};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use crate::settings::edit;

/// Sets `section.name` of a JSON text, which may have comments; without an entry, removes it.
///
/// # Errors
/// The text is not JSON, or `section` is not an object.
pub(super) fn json(
    text: &str,
    section: &str,
    name: &str,
    entry: Option<&Value>,
) -> anyhow::Result<String> {
    let root = CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| anyhow!("it is not JSON: {error}"))?;
    let Some(object) = root.object_value_or_create() else { bail!("it is not a JSON object") };
    let Some(entry) = entry else {
        let servers = object.object_value(section);
        return Ok(match servers.and_then(|servers| servers.get(name)) {
            Some(there) => {
                there.remove();
                root.to_string()
            }
            None => text.to_owned(),
        });
    };
    let Some(servers) = object.object_value_or_create(section) else {
        bail!("its `{section}` is not an object");
    };
    let value = to_jsonc(entry);
    match servers.get(name) {
        Some(there) if there.to_serde_value().as_ref() == Some(entry) => {}
        Some(there) => there.set_value(value),
        None => _ = servers.append(name, value),
    }
    let text = root.to_string();
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

fn to_jsonc(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(to_jsonc).collect()),
        Value::Object(entries) => CstInputValue::Object(
            entries.iter().map(|(key, value)| (key.clone(), to_jsonc(value))).collect(),
        ),
    }
}

/// Sets `[section.name]` of a TOML text; without an entry, removes it.
///
/// # Errors
/// The text is not TOML, or `section` is not a table.
pub(super) fn toml(
    text: &str,
    section: &str,
    name: &str,
    entry: Option<&Value>,
) -> anyhow::Result<String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error| anyhow!("it is not TOML: {error}"))?;
    let Some(entry) = entry else {
        let servers = document.get_mut(section).and_then(Item::as_table_like_mut);
        let removed = servers.and_then(|servers| servers.remove(name));
        return Ok(removed.map_or(text.to_owned(), |_| document.to_string()));
    };
    let servers = document.entry(section).or_insert_with(|| {
        let mut servers = Table::new();
        // `[mcp_servers]` need not be written if all that follows is `[mcp_servers.x]`.
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let Some(servers) = servers.as_table_like_mut() else {
        bail!("its `{section}` is not a table")
    };
    let Some(settings) = entry.as_object() else { bail!("the entry is not an object") };
    if servers.get(name).map(edit::of_item).as_ref() != Some(entry) {
        servers.insert(name, Item::Table(edit::table(settings)));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_order_stay() {
        let before = "{\n  // my editor\n  \"theme\": \"dark\", /* keep */\n  \"servers\": {\n    \"a\": { \"url\": \"x\" },\n  },\n}\n";
        let after = json(before, "servers", "switchboard", Some(&json!({"url": "y"}))).unwrap();
        for kept in ["// my editor", "/* keep */", "\"a\": { \"url\": \"x\" }"] {
            assert!(after.contains(kept), "{after}");
        }
        assert_eq!(
            json(&after, "servers", "switchboard", Some(&json!({"url": "y"}))).unwrap(),
            after
        );
        let changed = json(&after, "servers", "switchboard", Some(&json!({"url": "z"}))).unwrap();
        assert!(changed.contains("\"z\"") && !changed.contains("\"y\""), "{changed}");
        let toml = "# mine\nmodel = \"o\"\n\n[mcp_servers.a] # first\ncommand = \"x\"\n";
        let after =
            super::toml(toml, "mcp_servers", "b", Some(&json!({"command": "y", "args": ["1"]})))
                .unwrap();
        assert_eq!(after, format!("{toml}\n[mcp_servers.b]\ncommand = \"y\"\nargs = [\"1\"]\n"));
    }

    #[test]
    fn what_was_put_in_is_taken_out() {
        let before = "{\n  // mine\n  \"servers\": {\n    \"a\": {\"url\": \"x\"}\n  }\n}\n";
        let after = super::json(before, "servers", "b", Some(&json!({"url": "y"}))).unwrap();
        assert_ne!(after, before);
        assert_eq!(super::json(&after, "servers", "b", None).unwrap(), before);
        for text in [before, "{}", "{\"servers\": {}}", "{\"servers\": 5}"] {
            assert_eq!(super::json(text, "servers", "b", None).unwrap(), text);
        }
        assert!(super::json("{", "servers", "b", None).is_err());
        let before = "# mine\n[mcp_servers.a]\ncommand = \"x\"\n";
        let after = super::toml(before, "mcp_servers", "b", Some(&json!({"url": "y"}))).unwrap();
        assert_eq!(super::toml(&after, "mcp_servers", "b", None).unwrap(), before);
        assert_eq!(super::toml("a = 1\n", "mcp_servers", "b", None).unwrap(), "a = 1\n");
    }

    #[test]
    fn what_is_not_understood_is_not_changed() {
        for (text, says) in [
            ("[1]", "not a JSON object"),
            ("{\"servers\": 5}", "`servers` is not an object"),
            ("{", "not JSON"),
        ] {
            let error = json(text, "servers", "x", Some(&json!({}))).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let error =
            super::toml("mcp_servers = 5", "mcp_servers", "x", Some(&json!({}))).unwrap_err();
        assert!(error.to_string().contains("`mcp_servers` is not a table"), "{error}");
    }
}
