//! The config that is written to: changed where it must be, and otherwise as it was.

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

use crate::excerpt::{TextPosition, excerpt};

/// How many variables or headers stand on one line.
const ON_ONE_LINE: usize = 2;

/// A TOML config in the making.
pub(super) struct Target {
    file: PathBuf,
    document: DocumentMut,
}

impl Target {
    /// Opens the config that `--config` names, or else `./switchboard.toml`; it need not exist yet.
    ///
    /// # Errors
    /// It cannot be read, or is not TOML.
    pub(super) fn open(flag: Option<&Path>) -> anyhow::Result<Self> {
        let file = flag.unwrap_or(Path::new("switchboard.toml")).to_owned();
        let shown = file.display();
        if file.extension().is_some_and(|end| end == "json" || end == "jsonc") {
            bail!("servers are imported into TOML, and `{shown}` is JSON");
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

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// What stands between a server's name and its tool's.
    pub(super) fn separator(&self) -> &str {
        let own = self.document.get("executor").and_then(|executor| executor.get("separator"));
        own.and_then(Item::as_str).unwrap_or("__")
    }

    /// The settings of a server that is there.
    pub(super) fn get(&self, server: &str) -> Option<Value> {
        self.document.get("servers")?.get(server).map(of_item)
    }

    /// Writes the settings of a server in the place of what was there, or at the end.
    ///
    /// # Errors
    /// `servers` is no table.
    pub(super) fn set(
        &mut self,
        server: &str,
        settings: &Map<String, Value>,
    ) -> anyhow::Result<()> {
        let shown = self.file.display();
        let servers = self.document.entry("servers").or_insert_with(|| {
            let mut servers = Table::new();
            // `[servers]` need not be written where all that follows is `[servers.x]`.
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

    /// Writes the config: all of it, or nothing.
    ///
    /// # Errors
    /// The folder or the disk does not let us.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        let tell = || format!("failed to write config `{}`", self.file.display());
        // What a link leads to is written, and the link stays.
        let file = fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let draft = file.with_file_name(format!(".{name}.{}.new", std::process::id()));
        let written = self.write_to(&draft, &file).and_then(|()| fs::rename(&draft, &file));
        if written.is_err() {
            // The draft is of no use to anybody.
            let _ = fs::remove_file(&draft);
        }
        written.with_context(tell)
    }

    fn write_to(&self, draft: &Path, file: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        // Imported settings often hold secrets, so that a new file is for its owner only.
        let mut draft = File::options().write(true).create_new(true).mode(0o600).open(draft)?;
        if let Ok(there) = fs::metadata(file) {
            draft.set_permissions(there.permissions())?;
        }
        draft.write_all(self.document.to_string().as_bytes())?;
        draft.sync_all()
    }
}

fn table(settings: &Map<String, Value>) -> Table {
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

/// TOML has no null; what is null is not there.
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

/// What an item says, however it is written.
fn of_item(item: &Item) -> Value {
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
