//! `${VAR}` from the environment, in the strings of a config.

use super::{
    missing::{LookupError, MissingValue, SubstitutionError},
    node::{ConfigNode, NodeContent},
    problem::{ConfigProblem, PathStep},
};

/// Keys of a tool definition in which `${…}` is not filled in: they are for models.
const TAKEN_AS_THEY_ARE: [&str; 3] = ["parameters", "mock_response", "mock_responses"];

/// The prefix of names of secrets in the vault, as in `${secret:NAME}`.
pub(super) const SECRET: &str = "secret:";

/// Reads an environment variable, or a secret if the name begins with [`SECRET`].
pub(super) type Variable<'a> = &'a dyn Fn(&str) -> Result<String, LookupError>;

/// Returns the value for the text between `${` and `}`; `None` if the `${…}` is to stay.
pub(super) type Meaning<'a> = &'a dyn Fn(&str) -> Result<Option<String>, SubstitutionError>;

/// Fills in the variables; `$${` stands for a plain `${`.
pub(super) fn variables(root: &mut ConfigNode, meaning: Meaning<'_>) -> Result<(), ConfigProblem> {
    within(root, meaning, false)
}

/// As [`variables`], for a definition of a tool.
pub(super) fn variables_of_tool(
    tool: &mut ConfigNode,
    meaning: Meaning<'_>,
) -> Result<(), ConfigProblem> {
    within(tool, meaning, true)
}

fn within(
    node: &mut ConfigNode,
    meaning: Meaning<'_>,
    in_tools: bool,
) -> Result<(), ConfigProblem> {
    // A disabled server needs no variables: often it is disabled because they are missing.
    if node.is_switched_off() {
        return Ok(());
    }
    match &mut node.content {
        NodeContent::Text(text) if text.contains("${") => {
            *text = fill(text, meaning).map_err(|what| ConfigProblem::new(what).at(node.line))?;
        }
        NodeContent::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let step = PathStep::item(index, item);
                within(item, meaning, in_tools).map_err(|problem| problem.inside(step))?;
            }
        }
        NodeContent::Table(entries) => {
            for (key, value) in entries {
                if in_tools && TAKEN_AS_THEY_ARE.contains(&key.name.as_str()) {
                    continue;
                }
                let in_tools = in_tools || key.name == "tools";
                within(value, meaning, in_tools)
                    .map_err(|problem| problem.inside(PathStep::key(&key.name)))?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The text with its variables filled in.
pub(super) fn fill(text: &str, meaning: Meaning<'_>) -> Result<String, SubstitutionError> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        if let Some(before) = before.strip_suffix('$') {
            filled.push_str(before);
            filled.push_str("${");
            rest = &from[2..];
            continue;
        }
        filled.push_str(before);
        let unclosed = || SubstitutionError::wrong("`${` has no `}`; write `$${` for a plain `${`");
        let end = from.find('}').ok_or_else(unclosed)?;
        match meaning(&from[2..end])? {
            Some(value) => filled.push_str(&value),
            None => filled.push_str(&from[..=end]),
        }
        rest = &from[end + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The value of `NAME` or `secret:NAME`, or of `NAME:-default`.
pub(super) fn value_of(asked: &str, variable: Variable<'_>) -> Result<String, SubstitutionError> {
    let (name, default) = match asked.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (asked, None),
    };
    let secret = name.strip_prefix(SECRET);
    if !secret.map_or_else(|| is_name(name), is_secret_name) {
        return Err(SubstitutionError::wrong(format_args!(
            "`${{{asked}}}` does not name a variable; write `$${{` for a plain `${{`"
        )));
    }
    match (variable(name), default) {
        (Ok(value), None) => Ok(value),
        (Ok(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (Err(error), None) => Err(SubstitutionError::Missing(missing(name, secret, error))),
    }
}

fn missing(name: &str, secret: Option<&str>, error: LookupError) -> MissingValue {
    match (secret, error) {
        (Some(secret), LookupError::Vault(why)) => MissingValue::Unreadable(secret.to_owned(), why),
        (Some(secret), _) => MissingValue::Secret(secret.to_owned()),
        (None, LookupError::NotUnicode) => MissingValue::Unicode(name.to_owned()),
        (None, _) => MissingValue::Variable(name.to_owned()),
    }
}

/// Whether `name` can be the name of an environment variable.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether `name` can be the name of a secret in the vault.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<String, String> {
        let variable = |name: &str| match name {
            "HOST" => Ok("example.org".to_owned()),
            "EMPTY" => Ok(String::new()),
            "secret:TOKEN" => Ok("hunter2".to_owned()),
            "secret:LOCKED" => Err(LookupError::Vault("the keyring is locked".to_owned())),
            _ => Err(LookupError::NotPresent),
        };
        let filled = fill(text, &|asked| value_of(asked, &variable).map(Some));
        filled.map_err(|unfilled| unfilled.to_string())
    }

    #[test]
    fn variables_are_filled_in() {
        assert_eq!(check("https://${HOST}/${EMPTY}x"), Ok("https://example.org/x".to_owned()));
        assert_eq!(check("$${HOST} costs $5 {}"), Ok("${HOST} costs $5 {}".to_owned()));
        assert_eq!(check("$${${HOST}}"), Ok("${example.org}".to_owned()));
        assert_eq!(check("${NOBODY:-a b}${EMPTY:-c}"), Ok("a bc".to_owned()));
        assert_eq!(check("Bearer ${secret:TOKEN}"), Ok("Bearer hunter2".to_owned()));
        assert_eq!(check("${secret:NOBODY:-x}"), Ok("x".to_owned()));
    }

    #[test]
    fn what_cannot_be_filled_in_is_named() {
        assert_eq!(
            check("x ${NOBODY}"),
            Err("the environment variable `NOBODY` is not set".to_owned())
        );
        assert_eq!(
            check("${secret:NOBODY}"),
            Err("the secret `NOBODY` is not in the vault (`switchboard secret set NOBODY`)"
                .to_owned())
        );
        assert_eq!(
            check("${secret:LOCKED}"),
            Err("the secret `LOCKED` cannot be read: the keyring is locked".to_owned())
        );
        for wrong in ["${", "${HOST", "${}", "${a b}", "${input:x}", "${secret:}", "${secret:a/b}"]
        {
            let error = check(wrong).unwrap_err();
            assert!(error.contains("`$${`"), "{error}");
        }
    }
}
