//! Moves secrets that `add` and `import` find into the vault, so that the config only refers to them.

use serde_json::{Map, Value};
use switchboard_runtime::redact;
use switchboard_vault::Secret;

use crate::{terminal::ask, vault};

/// A server's settings, as they stand under `[servers.NAME]`.
pub(super) type ServerEntry = Map<String, Value>;

/// What to do with values that look like secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretChoice {
    /// They stay in the config.
    Config,
    /// They go into the vault.
    Vault,
    /// The person at the terminal decides, once for all of them.
    Ask,
}

impl SecretChoice {
    /// The choice of a command: people are asked, programs are not.
    pub(super) fn of_terminal(is_plain: bool) -> Self {
        match is_plain {
            true => Self::Config,
            false if ask::is_possible() => Self::Ask,
            false => Self::Vault,
        }
    }
}

/// The secrets that configs refer to by name, and that are not stored yet.
pub(super) struct MovedSecrets {
    secrets: Vec<MovedSecret>,
    choice: SecretChoice,
}

struct MovedSecret {
    name: String,
    value: Secret,
}

impl MovedSecrets {
    pub(super) fn new(choice: SecretChoice) -> Self {
        Self { secrets: Vec::new(), choice }
    }

    /// Replaces values that look like secrets, and the variables of `env` that `also` names, by `${secret:NAME}`. Returns the
    /// names.
    ///
    /// # Errors
    /// The vault cannot be opened.
    pub(super) fn take_out(
        &mut self,
        server: &str,
        settings: &mut ServerEntry,
        also: &[String],
    ) -> anyhow::Result<Vec<String>> {
        let before = self.secrets.len();
        for section in ["headers", "env"] {
            let Some(Value::Object(entries)) = settings.get_mut(section) else { continue };
            for (name, value) in entries {
                let is_named = section == "env" && also.contains(name) && !refers(value);
                if is_named || is_plain_secret(name, value) {
                    self.replace(server, section, name, value)?;
                }
            }
        }
        if let Some(Value::Array(args)) = settings.get_mut("args") {
            for at in 0..args.len() {
                let flag = at.checked_sub(1).and_then(|before| args[before].as_str());
                if is_secret_argument(flag, &args[at]) {
                    let name = format!("ARG_{}", at + 1);
                    self.replace(server, "args", &name, &mut args[at])?;
                }
            }
        }
        if let Some(url) = settings.get_mut("url")
            && is_secret_argument(None, url)
        {
            self.replace(server, "url", "URL", url)?;
        }
        Ok(self.secrets[before..].iter().map(|secret| secret.name.clone()).collect())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Forgets all but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.secrets.truncate(len);
    }

    fn replace(
        &mut self,
        server: &str,
        section: &str,
        name: &str,
        value: &mut Value,
    ) -> anyhow::Result<()> {
        if !self.is_wanted(server, section, name) {
            return Ok(());
        }
        let text = value.as_str().unwrap_or_default();
        // `Bearer …` keeps its first word.
        let (scheme, secret) = match text.split_once(' ') {
            Some((scheme @ ("Bearer" | "Basic"), secret)) => (format!("{scheme} "), secret),
            _ => (String::new(), text),
        };
        let name = self.name_for(server, section, name, secret)?;
        let reference = format!("{scheme}{}", reference(&name));
        self.secrets.push(MovedSecret { name, value: secret.into() });
        *value = reference.into();
        Ok(())
    }

    fn is_wanted(&mut self, server: &str, section: &str, name: &str) -> bool {
        if self.choice == SecretChoice::Ask {
            let question = format!(
                "{section}.{name} of `{server}` looks like a secret. Keep such values in the vault, and write references into the config? [Y/n] "
            );
            let is_refused = |answer: String| matches!(answer.trim(), "n" | "N" | "no");
            self.choice = match ask::line(&question).is_ok_and(is_refused) {
                true => SecretChoice::Config,
                false => SecretChoice::Vault,
            };
        }
        self.choice == SecretChoice::Vault
    }

    /// `GITHUB_TOKEN`, unless that is another secret already; then `GITHUB_GITHUB_TOKEN`, after the server.
    fn name_for(
        &self,
        server: &str,
        section: &str,
        name: &str,
        secret: &str,
    ) -> anyhow::Result<String> {
        let plain =
            |text: &str| text.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let own = plain(name);
        let differs = |other: &MovedSecret| other.name == own && other.value.expose() != secret;
        // Many servers have a header `Authorization`, each with its own token.
        let is_taken = section != "env"
            || self.secrets.iter().any(differs)
            || stored(&own)?.is_some_and(|stored| stored.expose() != secret);
        Ok(if is_taken { format!("{}_{own}", plain(server)) } else { own })
    }

    /// The settings with the secrets themselves, to try the server with.
    pub(super) fn filled_in(&self, settings: &ServerEntry) -> ServerEntry {
        settings.iter().map(|(key, value)| (key.clone(), self.filled(value))).collect()
    }

    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self
                .secrets
                .iter()
                .fold(text.clone(), |text, secret| {
                    // A `$` of the secret is not the start of a variable.
                    let value = secret.value.expose().replace("${", "$${");
                    text.replace(&reference(&secret.name), &value)
                })
                .into(),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(entries) => {
                entries.iter().map(|(key, value)| (key.clone(), self.filled(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// Stores the secrets in the vault, and says so.
    ///
    /// # Errors
    /// The vault cannot be written.
    pub(super) fn store(&self) -> anyhow::Result<Vec<String>> {
        let each = self.secrets.iter().map(|MovedSecret { name, value }| {
            vault::open()?.set(vault::SECRETS, name, value.clone())?;
            Ok(format!("note: {name} is in the vault (`switchboard secret list`)"))
        });
        each.collect()
    }
}

/// How a config refers to a secret of the vault.
fn reference(name: &str) -> String {
    format!("${{secret:{name}}}")
}

/// The secret of this name that the vault has already; `None` without a vault.
fn stored(name: &str) -> anyhow::Result<Option<Secret>> {
    let Ok(vault) = vault::open() else { return Ok(None) };
    Ok(vault.get(vault::SECRETS, name)?)
}

fn refers(value: &Value) -> bool {
    value.as_str().is_none_or(|text| text.is_empty() || text.contains("${"))
}

/// Whether the value is a secret in plain text.
pub(super) fn is_plain_secret(name: &str, value: &Value) -> bool {
    let entry = Map::from_iter([(name.to_owned(), value.clone())]);
    // Unlike an argument of a tool, a variable or header whose name ends in KEY is usually a secret.
    let is_key = name.to_lowercase().ends_with("key");
    !refers(value) && (is_key || redact::object(&entry).contains(redact::REDACTED))
}

/// Whether an argument or address has a secret in it, or follows a flag such as `--api-key`.
fn is_secret_argument(flag: Option<&str>, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let flag = flag.and_then(|flag| flag.strip_prefix("--")).filter(|flag| !flag.contains('='));
    let follows = flag.is_some_and(|flag| !text.starts_with('-') && is_plain_secret(flag, value));
    !refers(value) && (follows || redact::text(text).contains(redact::REDACTED))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_found_wherever_they_stand() {
        let mut moved = MovedSecrets::new(SecretChoice::Vault);
        let Value::Object(mut settings) = json!({
            "args": ["-y", "--api-key", "abc123", "--verbose", "--header", "Authorization: Bearer t0k3n-t0k3n-t0k3n"],
            "url": "https://me:hunter2@h/mcp",
            "env": {"LOG": "debug", "PASSWORD": "p", "FROM_FILE": "x", "SET": "${SET}"},
        }) else {
            panic!()
        };
        let before = settings.clone();
        moved.take_out("s", &mut settings, &["FROM_FILE".to_owned(), "SET".to_owned()]).unwrap();
        let text = Value::Object(settings.clone()).to_string();
        for secret in ["abc123", "t0k3n", "hunter2", "\"p\"", "\"x\""] {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(settings["args"][2], "${secret:S_ARG_3}");
        assert_eq!(settings["env"]["LOG"], "debug");
        assert_eq!(moved.filled_in(&settings), before);
    }
}
