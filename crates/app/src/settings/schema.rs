//! The JSON Schema of the config, for editors.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Value, json};
use switchboard_local::ToolDefinition;

use super::Settings;

/// Returns the schema of the whole config, made from the types that it is read into.
pub(crate) fn of_config() -> Value {
    // Draft 7, because taplo and VS Code support it best.
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Settings>();
    schema.insert("title".to_owned(), "Switchboard's config".into());
    schema.insert(
        "description".to_owned(),
        "switchboard.toml; docs/config.md explains every key.".into(),
    );
    // JSON configs have `$schema` for editors.
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("$schema".to_owned(), json!({"type": "string"}));
    }
    schema.to_value()
}

/// The shapes of tool definitions: a list, or a list or an object by name under `registry`.
pub(super) fn tools(generator: &mut SchemaGenerator) -> Schema {
    let definition = generator.subschema_for::<ToolDefinition>();
    let mut named = definition.clone();
    if let Some(required) = named.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|key| key != "name");
    }
    let list = json!({"type": "array", "items": definition});
    let by_name = json!({"type": "object", "additionalProperties": named});
    json_schema!({
        "description": "`[[tools]]`: tools without a server.",
        "anyOf": [
            list,
            {"type": "object", "properties": {"registry": {"anyOf": [list, by_name]}}, "additionalProperties": false},
        ],
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use super::{
        super::{ParsedConfig, node::NodeContent, parse, read, toml},
        *,
    };
    use serde::Deserialize;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
    }

    fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let found = entries.flat_map(|path| match path.is_dir() {
            true => files(&path, end),
            false if path.extension().is_some_and(|own| own == end) => vec![path],
            false => Vec::new(),
        });
        found.collect()
    }

    /// Every piece of TOML in the docs and the examples, with its place.
    fn examples() -> Vec<(String, String)> {
        let mut pages = files(&root().join("docs"), "md");
        pages.push(root().join("README.md"));
        let blocks = pages.iter().flat_map(|page| {
            let text = fs::read_to_string(page).unwrap();
            let blocks = text.split("```").skip(1).step_by(2);
            let blocks = blocks.filter_map(|block| block.strip_prefix("toml\n").map(dedented));
            blocks.map(|block| (page.display().to_string(), block)).collect::<Vec<_>>()
        });
        let mut whole = files(&root().join("examples"), "toml");
        whole.retain(|file| !file.ends_with("Cargo.toml"));
        let whole = whole.into_iter();
        let whole =
            whole.map(|file| (file.display().to_string(), fs::read_to_string(file).unwrap()));
        blocks.chain(whole).collect()
    }

    fn dedented(block: &str) -> String {
        block.lines().map(|line| format!("{}\n", line.trim_start())).collect()
    }

    fn is_loaded(text: &str) -> bool {
        let file = Path::new("switchboard.toml");
        let parsed = parse(text, file);
        matches!(parsed, Ok(ParsedConfig::Ours(_)))
            && parsed.and_then(|config| read(config, file, &|_| Ok("value".to_owned()))).is_ok()
    }

    fn is_valid(text: &str) -> Result<(), String> {
        let node = toml::parse(text).map_err(|problem| problem.to_string())?;
        assert!(matches!(node.content, NodeContent::Table(_)));
        let config = Value::deserialize(node).unwrap();
        let schema = jsonschema::draft7::new(&of_config()).unwrap();
        schema.validate(&config).map_err(|error| format!("{}: {error}", error.instance_path()))
    }

    #[test]
    fn what_loads_is_valid() {
        let examples = examples();
        // One is Codex's config.
        let ours = examples.iter().filter(|(_, text)| !text.contains("mcp_servers"));
        for (place, text) in ours {
            assert!(is_loaded(text), "{place}\n{text}");
            assert_eq!(is_valid(text), Ok(()), "{place}\n{text}");
        }
        assert!(examples.len() > 30, "{}", examples.len());
        let template = include_str!("../commands/init/switchboard.toml");
        assert_eq!(is_valid(template), Ok(()));
    }

    #[test]
    fn what_does_not_load_is_not_valid() {
        for text in [
            "nope = 1",
            "[executor]\ntimout = \"5s\"",
            "[executor]\ntimeout = 5",
            "[servers.x]\ncommnd = \"y\"",
            "[servers.x.tools.y]\ntimout = \"5s\"",
            "[servers.x]\ntype = \"carrier-pigeon\"",
            "[models.x]\nprovider = \"ollama\"",
            "[models.x]\nprovider = \"none\"\nmodel = \"m\"",
            "[serve.tls]\ncertificate = \"x\"",
            "[[tools]]\nname = \"x\"\ndescription = \"y\"",
            "[voice.stt]\nurll = \"x\"",
        ] {
            assert!(!is_loaded(text), "{text}");
            assert!(is_valid(text).is_err(), "{text}");
        }
        for text in [
            "[servers.x]\ntype = \"streamable-http\"\nurl = \"http://h\"",
            "[tools.registry.x]\ndescription = \"y\"\nimplementation = { type = \"mock\", mock_response = 1 }",
        ] {
            assert!(is_loaded(text), "{text}");
            assert_eq!(is_valid(text), Ok(()), "{text}");
        }
    }

    /// Every table with known keys refuses others, and every key says what it is.
    #[test]
    fn every_key_is_explained() {
        fn walk(schema: &Value, path: &str) {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                assert_eq!(schema["additionalProperties"], false, "{path}");
                for (key, value) in properties.iter().filter(|(key, _)| *key != "$schema") {
                    let path = format!("{path}.{key}");
                    let is_explained = value["description"].is_string() || key == "registry";
                    assert!(is_explained, "{path} has no description: {value}");
                    walk(value, &path);
                }
            }
            for key in ["items", "additionalProperties"] {
                schema.get(key).into_iter().for_each(|inner| walk(inner, path));
            }
            for key in ["anyOf", "oneOf", "allOf"] {
                let inner = schema.get(key).and_then(Value::as_array);
                inner.into_iter().flatten().for_each(|inner| walk(inner, path));
            }
        }
        walk(&of_config(), "config");
    }
}
