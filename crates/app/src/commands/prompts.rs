//! `switchboard prompts`: lists the prompts of servers, and gets one.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use serde_json::{Map, Value, json};
use switchboard_mcp_wire::{List, Method};
use switchboard_runtime::lookup::close_names;

use super::{
    lists::{ListEntry, table, with_server},
    server_source::{ServerSource, with_source},
};
use crate::{
    arguments,
    cli::{Cli, PromptsArgs},
    connections::Needs,
    overrides,
    terminal::is_watched,
    terminal::{self, CommandFailed, Paint, text},
};

pub(super) fn run(prompts: &PromptsArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let separator = &loaded.settings.executor.separator;
    let needs = match &prompts.name {
        Some(name) => match Needs::of_name(name, separator, &loaded) {
            // An unknown prefix may be part of a prompt's own name.
            Needs::Nothing => Needs::All,
            needs => needs,
        },
        None => Needs::All,
    };
    with_source(cli, &loaded, needs, is_watched(prompts.json), async |source| {
        let all = source.gather(List::Prompts).await?;
        match &prompts.name {
            Some(name) => get(name, source, &all, prompts).await,
            None => list(&all, prompts, cli),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn list(all: &[ListEntry], prompts: &PromptsArgs, cli: &Cli) -> anyhow::Result<()> {
    if prompts.json {
        let all: Value = all.iter().map(ListEntry::described).collect();
        return Ok(terminal::print(&all.to_string())?);
    }
    let rows = all.iter().map(|entry| {
        [
            text::one_line(entry.text("name")),
            entry.server.to_string(),
            declared(entry).into_iter().map(Argument::render).collect::<Vec<_>>().join(" "),
            text::one_line(entry.text("description")),
        ]
    });
    let rows: Vec<_> = rows.collect();
    match rows.is_empty() {
        true => terminal::tell("no server that is connected has prompts"),
        false => terminal::print(&table(&rows, Paint::stdout(cli.color)))?,
    }
    Ok(())
}

/// An argument that a prompt declares.
struct Argument<'a> {
    name: &'a str,
    is_required: bool,
}

impl Argument<'_> {
    fn render(self) -> String {
        let Self { name, is_required } = self;
        let name = text::one_line(name);
        if is_required { format!("{name}=…") } else { format!("[{name}=…]") }
    }
}

fn declared(entry: &ListEntry) -> Vec<Argument<'_>> {
    let arguments = entry.value["arguments"].as_array().into_iter().flatten();
    let arguments = arguments.map(|argument| Argument {
        name: argument["name"].as_str().unwrap_or_default(),
        is_required: argument["required"] == true,
    });
    arguments.collect()
}

async fn get(
    name: &str,
    source: &ServerSource<'_>,
    all: &[ListEntry],
    prompts: &PromptsArgs,
) -> anyhow::Result<()> {
    let separator = source.separator();
    let full = |entry: &ListEntry| format!("{}{separator}{}", entry.server, entry.text("name"));
    let by_full = all.iter().find(|entry| full(entry) == name);
    // As for tools: if several servers have it, the last in the config wins.
    let by_bare = || all.iter().rev().find(|entry| entry.text("name") == name);
    let Some(entry) = by_full.or_else(by_bare) else {
        let close = close_names(name, all.iter().map(|entry| entry.text("name")));
        let way_out = match close.is_empty() {
            true => "`switchboard prompts` lists them all".to_owned(),
            false => format!("did you mean {}?", text::one_line(&close.join(", "))),
        };
        return Err(CommandFailed(format!("no server has a prompt `{name}`; {way_out}")).into());
    };
    let arguments = texts(&prompts.arguments, entry)?;
    let params = Map::from_iter([
        ("name".to_owned(), Value::from(entry.text("name"))),
        ("arguments".to_owned(), Value::Object(arguments)),
    ]);
    let answered = source.ask(&entry.server, Method::GetPrompt, params, false).await?;
    let text = match prompts.json {
        true => with_server(&entry.server, &answered.result).to_string(),
        false => messages(&answered.result),
    };
    Ok(terminal::print(&text)?)
}

/// Reads the arguments; in MCP the arguments of prompts are always strings.
fn texts(words: &[String], entry: &ListEntry) -> anyhow::Result<Map<String, Value>> {
    let declared = declared(entry);
    let required = declared.iter().filter(|argument| argument.is_required);
    let required: Vec<_> = required.map(|argument| argument.name).collect();
    let properties: Map<_, _> = declared
        .iter()
        .map(|argument| (argument.name.to_owned(), json!({"type": "string"})))
        .collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let read = arguments::read(words, Some(&schema), &mut io::stdin().lock())?;
    let text = |value: Value| match value {
        Value::String(text) => Value::String(text),
        other => Value::String(other.to_string()),
    };
    Ok(read.into_iter().map(|(name, value)| (name, text(value))).collect())
}

/// The messages for people: role, then content. The text is data: invisible characters become escapes only on a terminal.
fn messages(answer: &Value) -> String {
    let is_terminal = io::stdout().is_terminal();
    let messages = answer["messages"].as_array().into_iter().flatten().map(|message| {
        let role = text::one_line(message["role"].as_str().unwrap_or("?"));
        let content = &message["content"];
        let embedded = content["resource"]["text"].as_str();
        let said = match content["text"].as_str().or(embedded) {
            Some(said) if is_terminal => text::lines(said),
            Some(said) => said.to_owned(),
            None => {
                let kind = content["type"].as_str().unwrap_or("unknown");
                let media = content["mimeType"].as_str().unwrap_or_default();
                text::one_line(&format!("[{kind} {media}]"))
            }
        };
        format!("{role}: {said}")
    });
    messages.collect::<Vec<_>>().join("\n\n")
}
