//! The shapes in which tool definitions come, made one: a list under `tools`.
//!
//! They may be `[[tools]]`, a list or an object by name under `tools.registry`, and in JSON also a file that
//! is nothing but one definition, or a list of them.

use super::{
    node::{Content, Key, Node},
    problem::{Problem, Step},
};

/// Returns the config with its definitions in the one shape.
pub(super) fn one_shape(root: Node) -> Result<Node, Problem> {
    let line = root.line;
    match root.content {
        Content::List(definitions) => Ok(only_tools(line, definitions)),
        _ if is_definition(&root) => Ok(only_tools(line, vec![root])),
        Content::Table(entries) => {
            let entries = entries.into_iter().map(|(key, node)| match key.name.as_str() {
                "tools" => Ok((key, registered(node).map_err(|e| e.inside(Step::key("tools")))?)),
                _ => Ok((key, node)),
            });
            Ok(Node::new(line, Content::Table(entries.collect::<Result<_, Problem>>()?)))
        }
        other => Ok(Node::new(line, other)),
    }
}

/// A config of sections has none of these at the top.
fn is_definition(root: &Node) -> bool {
    let has = |name| root.get(name).is_some();
    has("implementation") || (has("name") && (has("description") || has("parameters")))
}

fn only_tools(line: usize, definitions: Vec<Node>) -> Node {
    let key = Key { name: "tools".to_owned(), line };
    let tools = Node::new(line, Content::List(definitions));
    Node::new(line, Content::Table(vec![(key, tools)]))
}

/// Takes the definitions out of `tools.registry`, if that is where they are.
fn registered(tools: Node) -> Result<Node, Problem> {
    let Content::Table(entries) = tools.content else {
        return Ok(tools);
    };
    let mut definitions = Vec::new();
    for (key, node) in entries {
        if key.name != "registry" {
            return Err(Problem::unknown_key(&key.name, &["registry"]).at(key.line));
        }
        let in_registry = |problem: Problem| problem.inside(Step::key("registry"));
        match node.content {
            Content::List(listed) => definitions.extend(listed),
            Content::Table(named) => {
                for (name, definition) in named {
                    definitions.push(named_by_key(name, definition).map_err(in_registry)?);
                }
            }
            _ => {
                let what = "expected a list of tool definitions, or a table of them by name";
                return Err(in_registry(Problem::new(what).at(node.line)));
            }
        }
    }
    Ok(Node::new(tools.line, Content::List(definitions)))
}

/// Gives a definition the name it is registered under.
fn named_by_key(name: Key, mut definition: Node) -> Result<Node, Problem> {
    let (given, line) = (definition.own_name().map(str::to_owned), definition.line);
    match (&mut definition.content, given) {
        (_, Some(given)) if given != name.name => {
            let what =
                format!("tool `{}` is registered here, but names itself `{given}`", name.name);
            Err(Problem::new(what).at(line))
        }
        (Content::Table(entries), None) => {
            let key = Key { name: "name".to_owned(), line: name.line };
            entries.insert(0, (key, Node::new(name.line, Content::Text(name.name))));
            Ok(definition)
        }
        _ => Ok(definition),
    }
}
