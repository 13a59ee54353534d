//! `envFile`: more of a server's environment, in a file of `NAME=value` lines.

use std::fs;

use super::{
    super::{
        node::{ConfigKey, ConfigNode, NodeContent},
        problem::ConfigProblem,
    },
    Workspace,
};

/// Adds the file's variables to the entry's `env`, which has precedence. Returns the names of the new ones.
pub(super) fn add(
    entry: &mut ConfigNode,
    file: &ConfigNode,
    workspace: &Workspace,
) -> Result<Vec<String>, ConfigProblem> {
    let mut added = Vec::new();
    let NodeContent::Text(path) = &file.content else {
        return Ok(added);
    };
    let path = workspace.join(path);
    let text = fs::read_to_string(&path).map_err(|error| {
        ConfigProblem::new(format!("failed to read `{}`: {error}", path.display())).at(file.line)
    })?;
    let NodeContent::Table(keys) = &mut entry.content else {
        return Ok(added);
    };
    if !keys.iter().any(|(key, _)| key.name == "env") {
        let key = ConfigKey { name: "env".to_owned(), line: file.line };
        keys.push((key, ConfigNode::new(file.line, NodeContent::Table(Vec::new()))));
    }
    let env = keys.iter_mut().find(|(key, _)| key.name == "env");
    if let Some((_, ConfigNode { content: NodeContent::Table(env), .. })) = env {
        for (name, value) in variables(&text) {
            if !env.iter().any(|(key, _)| key.name == name) {
                added.push(name.clone());
                let key = ConfigKey { name, line: file.line };
                env.push((key, ConfigNode::new(file.line, NodeContent::Text(value))));
            }
        }
    }
    Ok(added)
}

pub(in crate::settings) fn variables(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_owned(), unquoted(value.trim())))
    });
    pairs.collect()
}

fn unquoted(value: &str) -> String {
    let within = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    match (within('"'), within('\'')) {
        (Some(text), _) => text.replace("\\n", "\n").replace("\\\"", "\""),
        (_, Some(text)) => text.to_owned(),
        _ => value.split(" #").next().unwrap_or(value).trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_variables() {
        let text = "# a\nA=1\nexport B = two # b\n\nC=\"x y # z\\n\"\nD='${raw}'\nnonsense\nE=a=b";
        let pairs = [("A", "1"), ("B", "two"), ("C", "x y # z\n"), ("D", "${raw}"), ("E", "a=b")];
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(variables(text), pairs);
    }
}
