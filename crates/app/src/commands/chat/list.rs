//! `switchboard chat --list`: lists the saved chats.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use switchboard_agent::{SavedChat, chats};

use super::store;
use crate::{
    cli::{ChatArgs, Cli},
    terminal::{self, Paint, text},
};

/// One chat in the list.
#[derive(Debug, Serialize)]
struct ChatRow {
    id: String,
    model: String,
    started: String,
    updated: String,
    turns: usize,
    title: String,
}

pub(super) fn run(chat: &ChatArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let kept = store::open().all()?;
    let rows: Vec<_> = kept.iter().filter_map(|kept| row(kept, chat.json)).collect();
    if chat.json {
        terminal::print(&serde_json::to_string(&rows)?)?;
    } else if rows.is_empty() {
        terminal::tell("there are no chats yet; `switchboard chat` begins one");
    } else {
        let paint = Paint::stdout(cli.color);
        let lines: Vec<_> = rows.iter().map(|row| line(row, paint)).collect();
        terminal::print(&lines.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the row of a chat; one that cannot be read is reported on stderr and left out.
fn row(kept: &SavedChat, for_programs: bool) -> Option<ChatRow> {
    let transcript = chats::read(&kept.file)
        .map_err(anyhow::Error::from)
        .inspect_err(|error| terminal::tell(&text::lines(&format!("warning: {error:#}"))))
        .ok()?;
    let updated = Timestamp::try_from(kept.updated).unwrap_or_default();
    let updated = match for_programs {
        true => updated.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        false => updated.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    };
    let (turns, title) = (transcript.turns(), text::one_line(transcript.title()));
    let id = kept.id.clone();
    Some(ChatRow {
        id,
        model: transcript.model,
        started: transcript.started,
        updated,
        turns,
        title,
    })
}

/// Columns on a terminal, full texts separated by tabs in a pipe.
fn line(row: &ChatRow, paint: Paint) -> String {
    let ChatRow { id, model, updated, turns, title, .. } = row;
    if !io::stdout().is_terminal() {
        let (model, title) = (text::one_line(model), text::one_line(title));
        return format!("{id}\t{updated}\t{turns}\t{model}\t{title}");
    }
    let head = format!("{updated}  {turns:>3}  {}", text::pad(&text::shorten(model, 28), 28));
    let room = terminal::width().saturating_sub(id.len() + head.chars().count() + 4).max(16);
    format!("{}  {head}  {}", paint.bold(id), text::shorten(title, room))
}
