//! `switchboard secret`: stores, lists and removes the secrets of the vault (SPEC AU-2).

use std::{
    io::{self, Read},
    process::ExitCode,
};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use switchboard_vault::{KeyPlace, Secret, Vault};

use crate::{
    cli::{SecretAction, SecretArgs},
    settings::is_secret_name,
    terminal::{self, ask, text},
    vault::{self, SECRETS},
};

/// No secret is longer.
const MAX_BYTES: u64 = 1 << 20;

pub(super) fn run(secret: &SecretArgs) -> anyhow::Result<ExitCode> {
    let vault = vault::open()?;
    match &secret.action {
        SecretAction::Set { name } => set(&vault, name)?,
        SecretAction::List { json } => list(&vault, *json)?,
        SecretAction::Rm { name } => {
            if !vault.remove(SECRETS, name)? {
                bail!(
                    "there is no secret `{}`; `switchboard secret list` names them",
                    text::one_line(name)
                );
            }
            terminal::tell(&format!("secret {name} is removed"));
        }
        SecretAction::Rotate { key } => {
            let place = vault.rotate(key.map(KeyPlace::from))?;
            terminal::tell(&format!("the vault has a new key, which is {}", place_of_key(place)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn set(vault: &Vault, name: &str) -> anyhow::Result<()> {
    if !is_secret_name(name) {
        bail!(
            "`{}` cannot name a secret: letters, digits, `_`, `-` and `.` can",
            text::one_line(name)
        );
    }
    let secret = read(name)?;
    if secret.expose().is_empty() {
        bail!("the secret is empty; nothing was stored");
    }
    vault.set(SECRETS, name, secret)?;
    let place = vault.key_place()?.map(place_of_key).unwrap_or_default();
    terminal::tell(&format!(
        "secret {name} is stored, encrypted with a key that is {place}; the config refers to it as ${{secret:{name}}}"
    ));
    Ok(())
}

/// Reads the secret without its final newline: from the keyboard without echo, or from stdin if that is not a terminal.
fn read(name: &str) -> anyhow::Result<Secret> {
    if ask::is_possible() {
        return Ok(ask::secret_alone(&format!("Value of {name}: "))?.into());
    }
    let mut value = String::new();
    let read = io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut value);
    let length = read.context("failed to read the secret from stdin")?;
    if length as u64 > MAX_BYTES {
        bail!("the secret has more than {MAX_BYTES} bytes");
    }
    if value.ends_with('\n') {
        value.pop();
        if value.ends_with('\r') {
            value.pop();
        }
    }
    Ok(value.into())
}

fn list(vault: &Vault, json: bool) -> anyhow::Result<()> {
    let names = vault.names(SECRETS)?;
    if json {
        let entries: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        terminal::print(&Value::from(entries).to_string())?;
        return Ok(());
    }
    if names.is_empty() {
        terminal::tell("there are no secrets; `switchboard secret set NAME` stores one");
    }
    for name in names {
        terminal::print(&name)?;
    }
    Ok(())
}

fn place_of_key(place: KeyPlace) -> &'static str {
    match place {
        KeyPlace::Keyring => "in the system's keyring",
        KeyPlace::File => "in a file that only you can read",
    }
}
