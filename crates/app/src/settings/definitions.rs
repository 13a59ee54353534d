//! Brings the shapes that tool definitions may have into one: a list under `tools`.
//!
//! They may be `[[tools]]`, a list or an object by name under `tools.registry`, and in JSON also a file that
//! is nothing but one definition, or a list of them.

use super::{
    node::{ConfigKey, ConfigNode, NodeContent},
    problem::{ConfigProblem, PathStep},
};

/// Returns the config with its definitions in the one shape.
pub(super) fn one_shape(root: ConfigNode) -> Result<ConfigNode, ConfigProblem> {
    let line = root.line;
    match root.content {
        NodeContent::List(definitions) => Ok(only_tools(line, definitions)),
        _ if is_definition(&root) => Ok(only_tools(line, vec![root])),
        NodeContent::Table(entries) => {
            let entries = entries.into_iter().map(|(key, node)| match key.name.as_str() {
                "tools" => {
                    Ok((key, registered(node).map_err(|e| e.inside(PathStep::key("tools")))?))
                }
                _ => Ok((key, node)),
            });
            Ok(ConfigNode::new(
                line,
                NodeContent::Table(entries.collect::<Result<_, ConfigProblem>>()?),
            ))
        }
        other => Ok(ConfigNode::new(line, other)),
    }
}

/// Whether the root is a tool definition: a config of sections has none of these keys at the top.
fn is_definition(root: &ConfigNode) -> bool {
    let has = |name| root.get(name).is_some();
    has("implementation") || (has("name") && (has("description") || has("parameters")))
}

fn only_tools(line: usize, definitions: Vec<ConfigNode>) -> ConfigNode {
    let key = ConfigKey { name: "tools".to_owned(), line };
    let tools = ConfigNode::new(line, NodeContent::List(definitions));
    ConfigNode::new(line, NodeContent::Table(vec![(key, tools)]))
}

/// Takes the definitions out of `tools.registry`, if that is where they are.
fn registered(tools: ConfigNode) -> Result<ConfigNode, ConfigProblem> {
    let NodeContent::Table(entries) = tools.content else {
        return Ok(tools);
    };
    let mut definitions = Vec::new();
    for (key, node) in entries {
        if key.name != "registry" {
            return Err(ConfigProblem::unknown_key(&key.name, &["registry"]).at(key.line));
        }
        let in_registry = |problem: ConfigProblem| problem.inside(PathStep::key("registry"));
        match node.content {
            NodeContent::List(listed) => definitions.extend(listed),
            NodeContent::Table(named) => {
                for (name, definition) in named {
                    definitions.push(named_by_key(name, definition).map_err(in_registry)?);
                }
            }
            _ => {
                let what = "expected a list of tool definitions, or a table of them by name";
                return Err(in_registry(ConfigProblem::new(what).at(node.line)));
            }
        }
    }
    Ok(ConfigNode::new(tools.line, NodeContent::List(definitions)))
}

/// Gives a definition the name it is registered under.
fn named_by_key(name: ConfigKey, mut definition: ConfigNode) -> Result<ConfigNode, ConfigProblem> {
    let (given, line) = (definition.own_name().map(str::to_owned), definition.line);
    match (&mut definition.content, given) {
        (_, Some(given)) if given != name.name => {
            let what =
                format!("tool `{}` is registered here, but names itself `{given}`", name.name);
            Err(ConfigProblem::new(what).at(line))
        }
        (NodeContent::Table(entries), None) => {
            let key = ConfigKey { name: "name".to_owned(), line: name.line };
            entries.insert(0, (key, ConfigNode::new(name.line, NodeContent::Text(name.name))));
            Ok(definition)
        }
        _ => Ok(definition),
    }
}
