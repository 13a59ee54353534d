//! Secrets that `add` is given go into a file of their own, and the config refers to them.

use serde_json::{Map, Value};

use super::{super::import::is_plain_secret, ServerEntry};
use crate::{settings::secrets, terminal::ask};

/// A secret that the config refers to by the name of a variable.
pub(super) struct MovedSecret {
    variable: String,
    value: String,
}

/// Replaces what looks like a secret by `${VARIABLE}`, and returns what was replaced. On a terminal the person decides.
///
/// # Errors
/// `secrets.env` cannot be read.
pub(super) fn take_out(
    server: &str,
    settings: &mut ServerEntry,
) -> anyhow::Result<Vec<MovedSecret>> {
    let mut moved = Vec::new();
    for section in ["headers", "env"] {
        let Some(Value::Object(entries)) = settings.get_mut(section) else { continue };
        for (name, value) in entries {
            if !is_plain_secret(name, value) || !is_wanted(section, name) {
                continue;
            }
            let text = value.as_str().unwrap_or_default();
            // `Bearer …` keeps its first word.
            let (scheme, secret) = match text.split_once(' ') {
                Some((scheme @ ("Bearer" | "Basic"), secret)) => (format!("{scheme} "), secret),
                _ => (String::new(), text),
            };
            let variable = variable_for(server, section, name, secret)?;
            moved.push(MovedSecret { variable: variable.clone(), value: secret.to_owned() });
            *value = format!("{scheme}${{{variable}}}").into();
        }
    }
    Ok(moved)
}

fn is_wanted(section: &str, name: &str) -> bool {
    if !ask::is_possible() {
        return true;
    }
    let question = format!(
        "{section}.{name} looks like a secret. Keep it in secrets.env, which only you can read, and write a reference into the config? [Y/n] "
    );
    ask::line(&question).is_ok_and(|answer| !matches!(answer.trim(), "n" | "N" | "no"))
}

/// `GITHUB_TOKEN`, unless that is another secret already; then `GITHUB_GITHUB_TOKEN`, after the server.
fn variable_for(server: &str, section: &str, name: &str, secret: &str) -> anyhow::Result<String> {
    let plain = |text: &str| text.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let own = plain(name);
    let long = format!("{}_{own}", plain(server));
    // Many servers have a header `Authorization`, each with its own token.
    let is_taken = section == "headers" || secrets::differs(&own, secret)?;
    Ok(if is_taken { long } else { own })
}

/// The settings with the secrets themselves, to try the server with.
pub(super) fn filled_in(settings: &ServerEntry, moved: &[MovedSecret]) -> ServerEntry {
    let fill = |text: &str| {
        moved.iter().fold(text.to_owned(), |text, secret| {
            // A `$` of the secret is not the start of a variable.
            let value = secret.value.replace("${", "$${");
            text.replace(&format!("${{{}}}", secret.variable), &value)
        })
    };
    let each = settings.iter().map(|(key, value)| match (key.as_str(), value) {
        ("headers" | "env", Value::Object(entries)) => {
            let entries: Map<_, _> = entries
                .iter()
                .map(|(name, value)| {
                    (name.clone(), value.as_str().map_or(value.clone(), |text| fill(text).into()))
                })
                .collect();
            (key.clone(), Value::Object(entries))
        }
        _ => (key.clone(), value.clone()),
    });
    each.collect()
}

/// Writes the secrets into the user's file, and says so.
///
/// # Errors
/// The file cannot be written.
pub(super) fn store(moved: &[MovedSecret]) -> anyhow::Result<Vec<String>> {
    let each = moved.iter().map(|MovedSecret { variable, value }| {
        let file = secrets::store(variable, value)?;
        Ok(format!(
            "note: the value of {variable} is in {}, which only you can read",
            file.display()
        ))
    });
    each.collect()
}
