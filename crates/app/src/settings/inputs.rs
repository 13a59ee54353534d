//! `${input:x}` of VS Code's configs: their definitions, and filling them in.

use switchboard_mcp_client::ServerConfig;

use super::node::{ConfigNode, NodeContent};

/// A value that the person is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigInput {
    /// Its name in `${input:…}`.
    pub(crate) id: String,
    /// The question.
    pub(crate) description: Option<String>,
    /// The value of an empty answer.
    pub(crate) default: Option<String>,
    /// Whether the answer must not be shown.
    pub(crate) password: bool,
    /// The only answers, if there are any.
    pub(crate) options: Vec<String>,
}

/// Reads the list of inputs; those without an id are ignored, because nothing can refer to them.
pub(super) fn read(list: &ConfigNode) -> Vec<ConfigInput> {
    let NodeContent::List(items) = &list.content else {
        return Vec::new();
    };
    let text = |node: Option<&ConfigNode>| match node.map(|node| &node.content) {
        Some(NodeContent::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let options = |node: Option<&ConfigNode>| match node.map(|node| &node.content) {
        Some(NodeContent::List(items)) => items
            .iter()
            .filter_map(|item| text(Some(item)).or_else(|| text(item.get("value"))))
            .collect(),
        _ => Vec::new(),
    };
    let inputs = items.iter().filter_map(|item| {
        Some(ConfigInput {
            id: text(item.get("id"))?,
            description: text(item.get("description")),
            default: text(item.get("default")),
            password: item
                .get("password")
                .is_some_and(|node| node.content == NodeContent::Bool(true)),
            options: options(item.get("options")),
        })
    });
    inputs.collect()
}

/// Replaces each `${input:…}` of a server by its answer.
///
/// # Errors
/// `answer` failed.
pub(crate) fn fill(
    config: &mut ServerConfig,
    answer: &mut dyn FnMut(&str) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let plain = config.command.iter_mut().chain(&mut config.args).chain(&mut config.url);
    for text in plain.chain(config.env.values_mut()).chain(config.headers.values_mut()) {
        if text.contains("${input:") {
            *text = filled(text, answer)?;
        }
    }
    if let Some(cwd) = config.cwd.as_ref().and_then(|cwd| cwd.to_str()) {
        config.cwd = Some(filled(cwd, answer)?.into());
    }
    Ok(())
}

/// Returns the id of the first `${input:…}` of a server.
pub(crate) fn first(config: &ServerConfig) -> Option<&str> {
    let plain = config.command.iter().chain(&config.args).chain(&config.url);
    let texts = plain.chain(config.env.values()).chain(config.headers.values()).map(String::as_str);
    let cwd = config.cwd.as_ref().and_then(|cwd| cwd.to_str());
    texts.chain(cwd).find_map(|text| Some(text.split_once("${input:")?.1.split_once('}')?.0))
}

fn filled(
    text: &str,
    answer: &mut dyn FnMut(&str) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("${input:") {
        let Some((id, after)) = from.split_once('}') else { break };
        filled.push_str(before);
        filled.push_str(&answer(id)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    // MC-8
    #[test]
    fn answers_stand_wherever_they_are_asked_for() {
        let mut config = ServerConfig {
            command: Some("${input:a}".to_owned()),
            args: vec!["--x=${input:b}${input:a}".to_owned(), "${input:".to_owned()],
            cwd: Some("/${input:b}".into()),
            ..ServerConfig::default()
        };
        config.env.insert("T".to_owned(), "<${input:a}>".to_owned());
        assert_eq!(first(&config), Some("a"));
        fill(&mut config, &mut |id| Ok(id.to_uppercase())).unwrap();
        assert_eq!(first(&config), None);
        assert_eq!(config.command.as_deref(), Some("A"));
        assert_eq!(config.args, ["--x=BA", "${input:"]);
        assert_eq!(config.env["T"], "<A>");
        assert_eq!(config.cwd, Some("/B".into()));
    }
}
