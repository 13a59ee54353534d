//! `switchboard resources`: lists the resources of servers, and reads one.

mod content;

use std::{process::ExitCode, sync::Arc};

use anyhow::bail;
use serde_json::{Map, Value, json};
use switchboard_mcp_wire::{List, Method};

use super::{
    lists::{ListEntry, table, with_server},
    server_source::{MethodResult, ServerSource, with_source},
};
use crate::{
    cli::{Cli, ResourcesArgs},
    connections::Needs,
    overrides,
    settings::LoadedConfig,
    terminal::is_watched,
    terminal::{self, CommandFailed, Paint, text},
};

pub(super) fn run(resources: &ResourcesArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let needs = needs(resources.server.as_deref(), &loaded)?;
    with_source(
        cli,
        &loaded,
        needs,
        is_watched(resources.json),
        async |source| match &resources.uri {
            Some(uri) => {
                let candidates = candidates(uri, source).await?;
                read(uri, resources, source, candidates).await
            }
            None => list(resources, cli, source).await,
        },
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The one server that `--server` names, or all.
fn needs<'a>(server: Option<&str>, loaded: &'a LoadedConfig) -> anyhow::Result<Needs<'a>> {
    let Some(asked) = server else {
        return Ok(Needs::All);
    };
    match loaded.enabled_servers().find(|(name, _)| *name == asked) {
        Some((name, _)) => Ok(Needs::One(name)),
        None => {
            let known: Vec<_> = loaded.enabled_servers().map(|(name, _)| name.as_str()).collect();
            bail!("there is no server `{asked}` in the config; there are: {}", known.join(", "))
        }
    }
}

async fn list(
    resources: &ResourcesArgs,
    cli: &Cli,
    source: &ServerSource<'_>,
) -> anyhow::Result<()> {
    let plain = source.gather(List::Resources).await?;
    let templates = source.gather(List::ResourceTemplates).await?;
    if resources.json {
        let described =
            |entries: &[ListEntry]| entries.iter().map(ListEntry::described).collect::<Vec<_>>();
        let lists = json!({"resources": described(&plain), "templates": described(&templates)});
        return Ok(terminal::print(&lists.to_string())?);
    }
    let row = |entry: &ListEntry, uri: &str| {
        let title = [entry.text("title"), entry.text("name")];
        let title = title.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        [
            text::one_line(entry.text(uri)),
            entry.server.to_string(),
            text::one_line(title),
            text::one_line(entry.text("description")),
        ]
    };
    let rows = plain.iter().map(|entry| row(entry, "uri"));
    let rows: Vec<_> =
        rows.chain(templates.iter().map(|entry| row(entry, "uriTemplate"))).collect();
    match rows.is_empty() {
        true => terminal::tell("no server that is connected has resources"),
        false => terminal::print(&table(&rows, Paint::stdout(cli.color)))?,
    }
    Ok(())
}

async fn read(
    uri: &str,
    resources: &ResourcesArgs,
    source: &ServerSource<'_>,
    candidates: Vec<Arc<str>>,
) -> anyhow::Result<()> {
    let mut refusal = None;
    // A file gets the whole content: the limits on size are for models.
    let whole = resources.output.is_some();
    for server in candidates {
        let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
        match source.ask(&server, Method::ReadResource, params, whole).await {
            Ok(answered) => return show(&server, &answered, resources),
            // Another server may have it.
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or_else(|| {
        CommandFailed(format!("no server that is connected has resources, so none has `{uri}`"))
            .into()
    }))
}

/// Returns the servers that may have the resource: those that list it, else those with a template for it, else all that
/// have resources.
async fn candidates(uri: &str, source: &ServerSource<'_>) -> anyhow::Result<Vec<Arc<str>>> {
    let of = |entry: &ListEntry| entry.server.clone();
    let listed = source.gather(List::Resources).await?;
    let listed: Vec<_> = listed.iter().filter(|entry| entry.text("uri") == uri).map(of).collect();
    if !listed.is_empty() {
        return Ok(listed);
    }
    let templates = source.gather(List::ResourceTemplates).await?;
    let fits = |entry: &&ListEntry| content::fits(entry.text("uriTemplate"), uri);
    let fitting: Vec<_> = templates.iter().filter(fits).map(of).collect();
    if !fitting.is_empty() {
        return Ok(fitting);
    }
    source.offering("resources").await
}

fn show(server: &str, answered: &MethodResult, resources: &ResourcesArgs) -> anyhow::Result<()> {
    if answered.is_cut {
        terminal::tell("the text is cut; --output FILE writes the whole to a file");
    }
    if resources.json {
        return Ok(terminal::print(&with_server(server, &answered.result).to_string())?);
    }
    let parts = answered.result["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    match &resources.output {
        Some(file) => content::save(parts, file),
        None => Ok(terminal::print(&content::render(parts))?),
    }
}
