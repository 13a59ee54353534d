//! `switchboard profile`: lists profiles, and tests one on recorded calls (SPEC FT-5).

mod report;

use std::process::ExitCode;

use serde_json::{Value, json};
use switchboard_audit::Filter;
use switchboard_toolcall::{ProfileConfig, Visibility};

use super::{calls, lists};
use crate::{
    assembly::App,
    cli::{Cli, ProfileAction, ProfileArgs, ProfileTestArgs},
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
use report::ProfileComparison;

/// How many records are in memory at once.
const PAGE: usize = 500;

pub(super) fn run(profile: &ProfileArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    match &profile.action {
        ProfileAction::List { json } => list(&loaded, *json, cli),
        ProfileAction::Test(test) => run_test(test, &loaded, cli),
    }
}

fn list(loaded: &LoadedConfig, as_json: bool, cli: &Cli) -> anyhow::Result<ExitCode> {
    // Only those that can be used are listed.
    profiles::rules(loaded).map_err(|problems| anyhow::anyhow!(problems.join("\n       ")))?;
    let all = &loaded.settings.profiles;
    if as_json {
        let shown: Vec<_> = all.iter().map(|(name, config)| described(name, config)).collect();
        terminal::print(&Value::Array(shown).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        terminal::tell("there are no profiles; `[profiles.NAME]` in the config makes one");
    }
    let rows: Vec<_> = all.iter().map(|(name, config)| row(name, config)).collect();
    if !rows.is_empty() {
        terminal::print(&lists::table(&rows, Paint::stdout(cli.color)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn described(name: &str, config: &ProfileConfig) -> Value {
    let renamed = config
        .tool
        .iter()
        .filter_map(|(tool, change)| Some((tool.clone(), Value::from(change.name.as_deref()?))));
    json!({
        "name": name,
        "tools": config.tools,
        "discovery": config.discovery,
        "pinned": config.pinned,
        "instructions": config.instructions,
        "renamed": Value::Object(renamed.collect()),
    })
}

fn row(name: &str, config: &ProfileConfig) -> [String; 3] {
    let changed = match config.tool.len() {
        0 => String::new(),
        changed => format!("{} changed", calls::format::counted(changed, "tool")),
    };
    [name.to_owned(), text::one_line(&config.tools.join(", ")), changed]
}

fn run_test(test: &ProfileTestArgs, loaded: &LoadedConfig, cli: &Cli) -> anyhow::Result<ExitCode> {
    profiles::check(loaded, Some(&test.name))?;
    let app = App::build(loaded)?;
    if !loaded.has_others() {
        return on_runtime(unless_interrupted(report(test, loaded, &app, cli)));
    }
    if let Some(gateway) = OwnGateway::find(cli, loaded) {
        return on_runtime(unless_interrupted(async {
            gateway.add_tools(&app, loaded).await?;
            report(test, loaded, &app, cli).await
        }));
    }
    with_servers(&app, loaded, Needs::All, async |connections| {
        let work = async {
            connections.wait_until_ready(is_watched(test.json)).await;
            report(test, loaded, &app, cli).await
        };
        unless_interrupted(work).await
    })
}

async fn report(
    test: &ProfileTestArgs,
    loaded: &LoadedConfig,
    app: &App,
    cli: &Cli,
) -> anyhow::Result<ExitCode> {
    let tools = app.executor.tools();
    let visibility = tools.profile(&test.name).map(Visibility::of_profile).unwrap_or_default();
    let mut comparison = ProfileComparison::new(&test.name, tools, &visibility);
    let mut reader = calls::open(loaded)?;
    let filter = test.filters.filter(loaded.settings.executor.slow_call);
    let mut page = Filter { limit: Some(PAGE), ..filter };
    loop {
        let records = reader.list(&page).map_err(calls::failed)?;
        for record in &records {
            comparison.add(record).await;
        }
        // A page that is not full is the last one.
        let Some(last) = records.last().filter(|_| records.len() == PAGE) else { break };
        page.after = Some(last.id);
    }
    let report = comparison.report();
    let shown = match test.json {
        true => serde_json::to_string(&report)?,
        false => report.text(Paint::stdout(cli.color)),
    };
    terminal::print(&shown)?;
    Ok(ExitCode::SUCCESS)
}
