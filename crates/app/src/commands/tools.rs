//! `switchboard tools`: which tools there are, or all about one.

mod details;
mod of_gateway;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use serde_json::{Map, Value, json};
use switchboard_runtime::{RegisteredTool, RulePolicy, Verdict, lookup::close_names};
use switchboard_toolcall::ToolPattern;
use unicode_width::UnicodeWidthStr;

use crate::{
    assembly::{self, App},
    cli::{Cli, ToolsArgs},
    connections::{Needs, with_servers},
    interrupt::unless_interrupted,
    overrides,
    own_gateway::OwnGateway,
    runtime::on_runtime,
    terminal::is_watched,
    terminal::{self, Paint, text},
};

/// How many columns of a description are worth showing.
const LEAST_DESCRIPTION: usize = 20;

pub(super) fn run(tools: &ToolsArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let app = App::build(&loaded)?;
    let rules = assembly::rules(&loaded).map_err(anyhow::Error::msg)?;
    if !loaded.has_others() {
        return show(tools, cli, &app, &rules);
    }
    if let Some(gateway) = OwnGateway::find(cli, &loaded) {
        on_runtime(unless_interrupted(of_gateway::add(&app, &loaded, &gateway)))?;
        return show(tools, cli, &app, &rules);
    }
    with_servers(&app, &loaded, Needs::All, async |connections| {
        let work = async {
            connections.settled(is_watched(tools.json)).await;
            show(tools, cli, &app, &rules)
        };
        unless_interrupted(work).await
    })
}

fn show(tools: &ToolsArgs, cli: &Cli, app: &App, rules: &RulePolicy) -> anyhow::Result<ExitCode> {
    let manager = app.executor.tools();
    let all = if tools.all { manager.all() } else { manager.listed() };
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
                _ if manager.get(filter).is_some_and(is_denied) => {
                    "`[policy]` denies it; with --all it is shown".to_owned()
                }
                true => "`switchboard tools` lists them all".to_owned(),
                false => format!("did you mean {}?", text::one_line(&close.join(", "))),
            };
            terminal::tell(&format!("no tool matches `{filter}`; {way_out}"));
            Ok(ExitCode::FAILURE)
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// The tool of that name; else those whose name matches the glob; else those that have the text.
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
        (said.destructive == Some(true), "destructive"),
        (said.open_world == Some(true), "open-world"),
    ];
    notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect()
}

/// Columns on a terminal, each server's tools under its name; in a pipe whole texts between tabs, for `cut` and
/// its kin.
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
    let mut lines = Vec::with_capacity(rows.len());
    let mut group = None;
    for row in &rows {
        if row.server != group {
            group.clone_from(&row.server);
            let name = row.server.as_deref().unwrap_or("local");
            lines.push(format!("\n{}", paint.cyan(&format!("server {name}"))));
        }
        lines.push(columns.line(row, paint));
    }
    lines.join("\n")
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
}

impl Columns {
    fn for_rows(rows: &[ToolRow], width: usize) -> Self {
        let widest = |text: &dyn Fn(&ToolRow) -> usize| rows.iter().map(text).max().unwrap_or(0);
        let name = widest(&|row| row.name.width());
        let notes = widest(&|row| row.notes.width());
        // What a tool does comes before what it is; if there is no room for both, the notes go.
        let room = |notes: usize| width.saturating_sub(name + notes + 4);
        let has_notes = room(notes) >= LEAST_DESCRIPTION;
        let description = room(if has_notes { notes } else { 0 }).max(LEAST_DESCRIPTION);
        Self { name, description, has_notes }
    }

    fn line(&self, row: &ToolRow, paint: Paint) -> String {
        let described = text::shorten(&row.description, self.description);
        let described = text::pad(&described, self.description);
        let noted = if self.has_notes { paint.dim(&row.notes) } else { String::new() };
        let line =
            format!("{}  {described}  {noted}", paint.bold(&text::pad(&row.name, self.name)));
        line.trim_end().to_owned()
    }
}
