//! Edits a TOML config in place: comments, order and formatting of everything else stay.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};
use toml_edit::{
    Array, DocumentMut, InlineTable, Item, Table, TableLike, Value as TomlValue, value,
};

use crate::{
    excerpt::{TextPosition, excerpt},
    terminal,
};

/// How many variables or headers stand on one line.
const ON_ONE_LINE: usize = 2;

/// A TOML config that a command changes.
pub(crate) struct ConfigEditor {
    file: PathBuf,
    document: DocumentMut,
}

impl ConfigEditor {
    /// Opens the config, which need not exist yet.
    ///
    /// # Errors
    /// The config cannot be read, or is not TOML.
    pub(crate) fn open(file: PathBuf) -> anyhow::Result<Self> {
        let shown = file.display();
        if file.extension().is_some_and(|end| end == "json" || end == "jsonc") {
            bail!("only configs in TOML are written, and `{shown}` is JSON");
        }
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("failed to read config `{shown}`"))?,
        };
        let document = text.parse::<DocumentMut>().map_err(|error| {
            let position =
                TextPosition::at(&text, error.span().map_or(text.len(), |span| span.start));
            let TextPosition { line, column } = position;
            anyhow!("{shown}:{line}:{column}: {}\n{}", error.message(), excerpt(&text, position))
        })?;
        Ok(Self { file, document })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the separator between the names of a server and its tool.
    pub(crate) fn separator(&self) -> &str {
        let own = self.document.get("executor").and_then(|executor| executor.get("separator"));
        own.and_then(Item::as_str).unwrap_or("__")
    }

    /// Returns the settings of a server; `None` if the config does not have it.
    pub(crate) fn get(&self, server: &str) -> Option<Value> {
        self.document.get("servers")?.get(server).map(of_item)
    }

    /// Replaces the settings of a server, or adds the server at the end.
    ///
    /// # Errors
    /// `servers` is not a table.
    pub(crate) fn set(
        &mut self,
        server: &str,
        settings: &Map<String, Value>,
    ) -> anyhow::Result<()> {
        let shown = self.file.display();
        let servers = self.document.entry("servers").or_insert_with(|| {
            let mut servers = Table::new();
            // `[servers]` need not be written if it only has tables such as `[servers.x]`.
            servers.set_implicit(true);
            Item::Table(servers)
        });
        let in_line = servers.is_inline_table();
        let servers: &mut dyn TableLike = servers
            .as_table_like_mut()
            .ok_or_else(|| anyhow!("{shown}: `servers` is not a table"))?;
        let entry = match in_line {
            true => value(inline(settings)),
            false => Item::Table(table(settings)),
        };
        match servers.get_mut(server) {
            // A table in place of a table keeps the comments before it.
            Some(Item::Table(old)) if !in_line => {
                let (decor, position) = (old.decor().clone(), old.position());
                *old = table(settings);
                *old.decor_mut() = decor;
                old.set_position(position);
            }
            Some(old) => *old = entry,
            None => _ = servers.insert(server, entry),
        }
        Ok(())
    }

    /// Returns the names of the servers, in order.
    pub(crate) fn servers(&self) -> Vec<String> {
        let servers = self.document.get("servers").and_then(Item::as_table_like);
        servers
            .map(|servers| servers.iter().map(|(name, _)| name.to_owned()).collect())
            .unwrap_or_default()
    }

    /// Removes a server, with the comment before it. Returns false if the config does not have it.
    pub(crate) fn remove(&mut self, server: &str) -> bool {
        let servers = self.document.get_mut("servers").and_then(Item::as_table_like_mut);
        servers.is_some_and(|servers| servers.remove(server).is_some())
    }

    /// Enables or disables a server. Returns false if the config does not have it.
    pub(crate) fn enable(&mut self, server: &str, is_enabled: bool) -> bool {
        let servers = self.document.get_mut("servers").and_then(Item::as_table_like_mut);
        let Some(server) =
            servers.and_then(|servers| servers.get_mut(server)).and_then(Item::as_table_like_mut)
        else {
            return false;
        };
        // A server is enabled by default.
        match is_enabled {
            true => {
                server.remove("enabled");
                server.remove("disabled");
            }
            false => _ = server.insert("enabled", value(false)),
        }
        true
    }

    /// Adds patterns or expressions to a list of `[policy]`, unless the list has them already.
    ///
    /// # Errors
    /// `policy` is not a table, or `key` is not a list.
    pub(crate) fn extend_policy(&mut self, key: &str, more: &[String]) -> anyhow::Result<()> {
        let shown = self.file.display();
        let policy = self.document.entry("policy").or_insert_with(|| Item::Table(Table::new()));
        let policy: &mut dyn TableLike = policy
            .as_table_like_mut()
            .ok_or_else(|| anyhow!("{shown}: `policy` is not a table"))?;
        let list = policy.entry(key).or_insert_with(|| value(Array::new()));
        let list =
            list.as_array_mut().ok_or_else(|| anyhow!("{shown}: `policy.{key}` is not a list"))?;
        for text in more {
            if !list.iter().any(|there| there.as_str() == Some(text)) {
                list.push(text.as_str());
            }
        }
        Ok(())
    }

    /// Keeps a copy of the file, if it exists, and says so.
    ///
    /// # Errors
    /// As [`back_up`].
    pub(crate) fn back_up(&self) -> anyhow::Result<()> {
        if let Some(backup) = back_up(&self.file)? {
            terminal::tell(&format!("the old config is {}", backup.display()));
        }
        Ok(())
    }

    /// The text as it would be written.
    pub(crate) fn text(&self) -> String {
        self.document.to_string()
    }

    /// Writes the config atomically.
    ///
    /// # Errors
    /// The folder or the disk does not let us.
    pub(crate) fn save(&self) -> anyhow::Result<()> {
        self.save_text(&self.text())
    }

    /// Replaces the config by this text.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub(crate) fn save_text(&self, text: &str) -> anyhow::Result<()> {
        match super::own_config().as_ref() == Some(&self.file) {
            true => create_file(&self.file, text),
            false => replace_file(&self.file, text),
        }
    }
}

/// Copies a file, if it exists, to one of the same name with `.bak`. The copy has the same permissions.
///
/// # Errors
/// The folder or the disk does not let us.
pub(crate) fn back_up(file: &Path) -> anyhow::Result<Option<PathBuf>> {
    if !file.exists() {
        return Ok(None);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let backup = file.with_file_name(format!("{name}.bak"));
    fs::copy(file, &backup).with_context(|| format!("failed to write `{}`", backup.display()))?;
    Ok(Some(backup))
}

/// Writes a config atomically. Permissions stay as they were.
///
/// # Errors
/// The folder or the disk does not let us.
pub(crate) fn replace_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let tell = || format!("failed to write config `{}`", path.display());
    // For a link, the file that it leads to is written, and the link stays.
    let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let draft = file.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = write_draft(text, &draft, &file).and_then(|()| fs::rename(&draft, &file));
    if written.is_err() {
        // Do not leave the incomplete draft behind.
        let _ = fs::remove_file(&draft);
    }
    written.with_context(tell)
}

/// As [`replace_file`], but creates the folder of the file, too: for files at known places, not for paths that a
/// person may have misspelt.
///
/// # Errors
/// As [`replace_file`].
pub(crate) fn create_file(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
    }
    replace_file(path, text)
}

fn write_draft(text: &str, draft: &Path, file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    // Settings of servers often hold secrets, so a new file is for its owner only.
    let mut draft = File::options().write(true).create_new(true).mode(0o600).open(draft)?;
    if let Ok(there) = fs::metadata(file) {
        draft.set_permissions(there.permissions())?;
    }
    draft.write_all(text.as_bytes())?;
    draft.sync_all()
}

pub(crate) fn table(settings: &Map<String, Value>) -> Table {
    let mut table = Table::new();
    for (key, setting) in settings {
        let item = match setting {
            Value::Object(entries) if entries.len() > ON_ONE_LINE => Item::Table(table_of(entries)),
            other => to_toml(other).map_or(Item::None, value),
        };
        table.insert(key, item);
    }
    table
}

fn table_of(entries: &Map<String, Value>) -> Table {
    let items = entries.iter().filter_map(|(key, entry)| Some((key, value(to_toml(entry)?))));
    items.fold(Table::new(), |mut table, (key, item)| {
        table.insert(key, item);
        table
    })
}

fn inline(settings: &Map<String, Value>) -> InlineTable {
    let entries = settings.iter().filter_map(|(key, entry)| Some((key, to_toml(entry)?)));
    entries.fold(InlineTable::new(), |mut table, (key, entry)| {
        table.insert(key, entry);
        table
    })
}

/// Converts JSON to TOML; null becomes `None`, because TOML does not have it.
fn to_toml(json: &Value) -> Option<TomlValue> {
    Some(match json {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::Array(items) => {
            TomlValue::Array(items.iter().filter_map(to_toml).collect::<Array>())
        }
        Value::Object(entries) => TomlValue::InlineTable(inline(entries)),
    })
}

/// Returns the value of an item, in whichever syntax it is written.
pub(crate) fn of_item(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect();
    }
    match item.as_value() {
        Some(TomlValue::String(text)) => text.value().as_str().into(),
        Some(TomlValue::Boolean(value)) => (*value.value()).into(),
        Some(TomlValue::Integer(number)) => (*number.value()).into(),
        Some(TomlValue::Array(items)) => {
            items.iter().map(|item| of_item(&Item::Value(item.clone()))).collect()
        }
        Some(other) => other.to_string().into(),
        None => Value::Null,
    }
}
