//! Prompts and resources of servers: entries of their lists, and rows for people.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

use serde_json::{Map, Value};
use unicode_width::UnicodeWidthStr;

use crate::terminal::{self, Paint, text};

/// An entry of a server's list.
pub(super) struct ListEntry {
    pub(super) server: Arc<str>,
    pub(super) value: Value,
}

impl ListEntry {
    /// Returns the text of the field `key`.
    pub(super) fn text(&self, key: &str) -> &str {
        self.value[key].as_str().unwrap_or_default()
    }

    /// The entry as programs read it.
    pub(super) fn described(&self) -> Value {
        with_server(&self.server, &self.value)
    }
}

/// Returns an object of a server with the server's name added.
pub(super) fn with_server(server: &str, value: &Value) -> Value {
    let mut described = Map::from_iter([("server".to_owned(), Value::from(server))]);
    described.extend(value.as_object().cloned().unwrap_or_default());
    Value::Object(described)
}

/// Rows as columns on a terminal, the last one cut to fit; in a pipe full texts separated by tabs.
pub(super) fn table<const N: usize>(rows: &[[String; N]], paint: Paint) -> String {
    if !io::stdout().is_terminal() {
        let line = |row: &[String; N]| row.each_ref().map(|cell| text::one_line(cell)).join("\t");
        return rows.iter().map(line).collect::<Vec<_>>().join("\n");
    }
    let widths: Vec<usize> = (0..N)
        .map(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0))
        .collect();
    let lines = rows.iter().map(|row| {
        let mut room = terminal::width();
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let shown = text::pad(&text::shorten(cell, room.max(8)), (*width).min(room));
            room = room.saturating_sub(width + 2);
            if column == 0 { paint.bold(&shown) } else { shown }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
