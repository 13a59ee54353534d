//! `switchboard tools`: lists the tools, or shows the details of one.

mod cost;
mod details;
mod search;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use serde_json::{Map, Value, json};
use switchboard_runtime::{RegisteredTool, RulePolicy, Verdict, lookup::close_names};
use switchboard_toolcall::{ToolPattern, Visibility};
use unicode_width::UnicodeWidthStr;

use super::calls::format;
use crate::{
    assembly::{self, App},
    cli::{Cli, ToolsArgs},
    connections::{Needs, with_servers},
    interrupt::unless_interrupted,
    overrides,
    own_gateway::OwnGateway,
    profiles,
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::is_watched,
    terminal::{self, Paint, text},
};

/// How many columns of a description are worth showing.
const LEAST_DESCRIPTION: usize = 20;

pub(super) fn run(tools: &ToolsArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    profiles::check(&loaded, tools.profile.as_deref())?;
    let app = App::build(&loaded)?;
    let rules = assembly::rules(&loaded).map_err(anyhow::Error::msg)?;
    if !loaded.has_others() {
        return on_runtime(unless_interrupted(print(tools, cli, &app, &rules, &loaded)));
    }
    if let Some(gateway) = OwnGateway::find(cli, &loaded) {
        return on_runtime(unless_interrupted(async {
            gateway.add_tools(&app, &loaded).await?;
            print(tools, cli, &app, &rules, &loaded).await
        }));
    }
    with_servers(&app, &loaded, Needs::All, async |connections| {
        let work = async {
            connections.wait_until_ready(is_watched(tools.json)).await;
            print(tools, cli, &app, &rules, &loaded).await
        };
        unless_interrupted(work).await
    })
}

async fn print(
    tools: &ToolsArgs,
    cli: &Cli,
    app: &App,
    rules: &RulePolicy,
    loaded: &LoadedConfig,
) -> anyhow::Result<ExitCode> {
    let seen = app.visibility(loaded, tools.profile.as_deref());
    match &tools.search {
        _ if tools.cost => cost::print(tools, app, loaded, &seen),
        Some(query) => search::print(query, tools, cli, app, rules, &seen).await,
        None => show(tools, cli, app, rules, loaded, &seen),
    }
}

fn show(
    tools: &ToolsArgs,
    cli: &Cli,
    app: &App,
    rules: &RulePolicy,
    loaded: &LoadedConfig,
    seen: &Visibility,
) -> anyhow::Result<ExitCode> {
    let manager = app.executor.tools();
    let all = if tools.all { manager.all_for(seen) } else { manager.listed_for(seen) };
    let found = filtered(&all, tools.filter.as_deref())?;
    if tools.json {
        let found: Vec<Value> =
            found.iter().map(|tool| described(tool, manager.is_denied(tool))).collect();
        terminal::print(&Value::Array(found).to_string())?;
    } else {
        let paint = Paint::stdout(cli.color);
        match &found[..] {
            [] => {}
            [tool] if tools.filter.as_deref() == Some(&**tool.name()) => {
                terminal::print(&details::of(tool, &notes(tool, rules), paint))?;
            }
            found => terminal::print(&table(found, rules, paint))?,
        }
    }
    match (&found[..], &tools.filter) {
        ([], Some(filter)) => {
            let close = close_names(filter, all.iter().map(|tool| &**tool.name()));
            let is_denied = |tool: Arc<RegisteredTool>| manager.is_denied(&tool);
            let way_out = match close.is_empty() {
                _ if manager.get_for(filter, seen).is_some_and(is_denied) => {
                    "`[policy]` denies it; with --all it is shown".to_owned()
                }
                true => loaded
                    .advice_to_enable_server_of(filter)
                    .unwrap_or_else(|| "`switchboard tools` lists them all".to_owned()),
                false => format!("did you mean {}?", text::one_line(&close.join(", "))),
            };
            terminal::tell(&format!("no tool matches `{filter}`; {way_out}"));
            Ok(ExitCode::FAILURE)
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Returns the tool of that name; else those whose name matches the glob; else those that contain the text.
fn filtered(
    all: &[Arc<RegisteredTool>],
    filter: Option<&str>,
) -> anyhow::Result<Vec<Arc<RegisteredTool>>> {
    let Some(filter) = filter else {
        return Ok(all.to_vec());
    };
    if let Some(tool) = all.iter().find(|tool| &**tool.name() == filter) {
        return Ok(vec![tool.clone()]);
    }
    let keep = |wanted: &dyn Fn(&RegisteredTool) -> bool| {
        all.iter().filter(|tool| wanted(tool)).cloned().collect()
    };
    if filter.contains(['*', '?', '[', '{']) {
        let pattern: ToolPattern =
            filter.parse().with_context(|| format!("`{filter}` is not a glob"))?;
        return Ok(keep(&|tool| pattern.matches(tool.name())));
    }
    let text = filter.to_lowercase();
    let has_text = |words: &str| words.to_lowercase().contains(&text);
    Ok(keep(&|tool| has_text(tool.name()) || has_text(&tool.spec().description)))
}

/// The tool as programs read it (SPEC §13).
fn described(tool: &RegisteredTool, is_denied: bool) -> Value {
    let spec = tool.spec();
    let mut described = Map::new();
    described.insert("name".to_owned(), Value::from(&**tool.name()));
    described.insert("description".to_owned(), spec.description.clone().into());
    described.insert("parameters".to_owned(), spec.parameters.clone());
    if let Some(server) = spec.server() {
        described.insert("server".to_owned(), Value::from(&**server));
    }
    described.insert("annotations".to_owned(), json!(spec.annotations));
    if is_denied {
        described.insert("denied".to_owned(), true.into());
    }
    Value::Object(described)
}

/// What a person should know before calling it.
fn notes(tool: &RegisteredTool, rules: &RulePolicy) -> Vec<&'static str> {
    let said = tool.spec().annotations;
    let verdict = rules.judge(tool);
    let notes = [
        (matches!(verdict, Verdict::Deny(_)), "denied"),
        (matches!(verdict, Verdict::AskFirst(_)), "asks first"),
        (said.read_only == Some(true), "read-only"),
        // MCP says that `destructiveHint` has no meaning for a read-only tool.
        (said.destructive == Some(true) && !tool.spec().is_read_only(), "destructive"),
        (said.open_world == Some(true), "open-world"),
    ];
    notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect()
}

/// Columns on a terminal, each server's tools under its name; in a pipe full texts separated by tabs, for `cut` and
/// similar programs.
fn table(tools: &[Arc<RegisteredTool>], rules: &RulePolicy, paint: Paint) -> String {
    let server = |tool: &RegisteredTool| tool.spec().server().map(ToString::to_string);
    let rows = tools.iter().map(|tool| ToolRow {
        name: text::one_line(tool.name()),
        description: text::one_line(&tool.spec().description),
        notes: notes(tool, rules).join(", "),
        server: server(tool),
    });
    let rows: Vec<ToolRow> = rows.collect();
    if !io::stdout().is_terminal() {
        return rows.iter().map(ToolRow::between_tabs).collect::<Vec<_>>().join("\n");
    }
    let columns = Columns::for_rows(&rows, terminal::width());
    let groups: Vec<&[ToolRow]> = rows.chunk_by(|a, b| a.server == b.server).collect();
    let groups = groups.iter().map(|group| {
        let lines = group.iter().map(|row| columns.line(row, paint)).collect::<Vec<_>>().join("\n");
        let count = format::counted(group.len(), "tool");
        match group.first().and_then(|row| row.server.as_deref()) {
            Some(server) => {
                let title = format!("server {}, {count}", text::one_line(server));
                format!("{}\n{lines}", paint.cyan(&title))
            }
            None if groups.len() > 1 => {
                format!("{}\n{lines}", paint.cyan(&format!("local, {count}")))
            }
            None => lines,
        }
    });
    groups.collect::<Vec<_>>().join("\n\n")
}

/// One tool in the list.
struct ToolRow {
    name: String,
    description: String,
    notes: String,
    server: Option<String>,
}

impl ToolRow {
    fn between_tabs(&self) -> String {
        let Self { name, description, notes, server } = self;
        let line = format!("{name}\t{description}\t{notes}");
        server.as_ref().map(|server| format!("{line}\t{server}")).unwrap_or(line)
    }
}

/// How wide the columns are; notes have none if there is no room for them.
struct Columns {
    name: usize,
    description: usize,
    has_notes: bool,
    /// Whether descriptions have a line of their own, because names leave no room.
    is_narrow: bool,
}

impl Columns {
    fn for_rows(rows: &[ToolRow], width: usize) -> Self {
        let widest = |text: &dyn Fn(&ToolRow) -> usize| rows.iter().map(text).max().unwrap_or(0);
        let name = widest(&|row| row.name.width());
        let notes = widest(&|row| row.notes.width());
        if name + 2 + LEAST_DESCRIPTION > width {
            let description = width.saturating_sub(2).max(LEAST_DESCRIPTION);
            return Self { name: width, description, has_notes: false, is_narrow: true };
        }
        // Descriptions matter more than notes: if there is no room for both, the notes are dropped.
        let room = |notes: usize| width.saturating_sub(name + notes + 4);
        let has_notes = room(notes) >= LEAST_DESCRIPTION;
        let description = if has_notes { room(notes) } else { width - name - 2 };
        Self { name, description, has_notes, is_narrow: false }
    }

    fn line(&self, row: &ToolRow, paint: Paint) -> String {
        let name = text::shorten_name(&row.name, self.name);
        let described = text::shorten(&row.description, self.description);
        if self.is_narrow {
            return format!("{}\n  {described}", paint.bold(&name)).trim_end().to_owned();
        }
        let described = text::pad(&described, self.description);
        let noted = if self.has_notes { paint.dim(&row.notes) } else { String::new() };
        let line = format!("{}  {described}  {noted}", paint.bold(&text::pad(&name, self.name)));
        line.trim_end().to_owned()
    }
}
