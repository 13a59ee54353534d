//! Candidates for values: names and ids of the config in use, the running gateway and the records.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::SystemTime,
};

use clap::builder::StyledStr;
use clap_complete::{CompletionCandidate, PathCompleter, engine::ValueCompleter};
use serde_json::Value;
use switchboard_audit::{Filter, Reader, Record};
use switchboard_toolcall::ErrorKind;

use super::words;
use crate::{
    approvals,
    assembly::App,
    commands::{calls::format, chat, import, token},
    own_gateway::OwnGateway,
    records,
    settings::{self, LoadedConfig, trust::TrustPrompt},
};

/// How many ids are offered: a screen.
const MOST_IDS: usize = 40;
/// How many of the latest calls are searched for tools of servers.
const MOST_RECORDS: usize = 500;

/// Tools: those of the running gateway. Without one, those of this process, and those of servers that the records know.
pub(crate) fn tool_names() -> Vec<CompletionCandidate> {
    let loaded = load();
    let listed = OwnGateway::look(&loaded).ok().flatten();
    if let Some(Value::Array(tools)) =
        listed.and_then(|gateway| gateway.get_soon("/api/tools").ok())
    {
        let words = |tool: &Value, key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        return named(tools.iter().map(|tool| (words(tool, "name"), words(tool, "description"))));
    }
    let app = App::try_build(&loaded).0;
    let own = app.map(|app| app.executor.tools().listed()).unwrap_or_default();
    let own = own.iter().map(|tool| (tool.name().to_string(), tool.spec().description.clone()));
    let recorded = recorded_tools(&loaded).into_iter().map(|name| (name, String::new()));
    named(own.chain(recorded))
}

/// Tools of enabled servers that were called lately, the last one first.
pub(crate) fn recorded_tools(loaded: &LoadedConfig) -> Vec<String> {
    let is_enabled = |record: &Record| {
        loaded.enabled_servers().any(|(name, _)| record.server.as_deref() == Some(name))
    };
    let records = recent(loaded, MOST_RECORDS).into_iter();
    let exists = |record: &Record| record.outcome.code() != ErrorKind::NotFound.code();
    let known = records.filter(|record| is_enabled(record) && exists(record));
    known.map(|record| record.tool).collect()
}

/// Servers of the config, also those that are not enabled.
pub(crate) fn server_names() -> Vec<CompletionCandidate> {
    let servers = load().settings.servers;
    named(servers.into_iter().map(|(name, server)| {
        let what = server.command.or(server.url).unwrap_or_default();
        (name, what)
    }))
}

/// Servers and APIs that can be signed in to.
pub(crate) fn sign_in_names() -> Vec<CompletionCandidate> {
    let settings = load().settings;
    let servers = settings.servers.into_iter();
    let remote = servers.filter_map(|(name, server)| Some((name, server.url?)));
    let apis = settings.apis.into_iter().map(|(name, api)| (name, api.openapi));
    named(remote.chain(apis))
}

/// Models of the config, and the one that needs no config.
pub(crate) fn model_names() -> Vec<CompletionCandidate> {
    let models = load().settings.models.into_iter();
    let models = models.map(|(name, model)| (name, model.model));
    named(models.chain([("demo".to_owned(), "no model: answers that are built in".to_owned())]))
}

/// Profiles of the config.
pub(crate) fn profile_names() -> Vec<CompletionCandidate> {
    let profiles = load().settings.profiles.into_iter();
    named(profiles.map(|(name, profile)| (name, profile.tools.join(", "))))
}

/// The latest calls.
pub(crate) fn call_ids() -> Vec<CompletionCandidate> {
    let now = SystemTime::now();
    let calls = recent(&load(), MOST_IDS).into_iter().map(|record| {
        let (ago, outcome) = (format::ago(record.started, now), record.outcome.code());
        (record.id.to_string(), format!("{} {outcome} {ago}", record.tool))
    });
    in_order(calls)
}

/// The latest runs.
pub(crate) fn run_ids() -> Vec<CompletionCandidate> {
    let store = records::runs(&load());
    let runs = store.and_then(|store| store.list(MOST_IDS).ok()).unwrap_or_default();
    in_order(runs.into_iter().map(|run| {
        (run.id.to_string(), format!("{} {} {}", run.state.code(), run.model, run.started))
    }))
}

/// The calls of this machine that wait for a person.
pub(crate) fn approval_ids() -> Vec<CompletionCandidate> {
    let pending = approvals::queue(&load()).and_then(|queue| queue.pending().ok());
    in_order(pending.into_iter().flatten().map(|pending| (pending.id, pending.tool)))
}

/// The remembered approval rules of this machine.
pub(crate) fn approval_rules() -> Vec<CompletionCandidate> {
    let rules = approvals::queue(&load()).and_then(|queue| queue.rules().ok());
    in_order(rules.into_iter().flatten().map(|rule| (rule.id, rule.tool)))
}

/// The tokens of this machine.
pub(crate) fn token_names() -> Vec<CompletionCandidate> {
    let tokens = token::open().map(|tokens| tokens.all()).unwrap_or_default();
    named(tokens.iter().map(|token| (token.entry().name.clone(), String::new())))
}

/// The saved chats, the last one first.
pub(crate) fn chat_ids() -> Vec<CompletionCandidate> {
    let chats = chat::store::open().all().unwrap_or_default().into_iter();
    in_order(chats.take(MOST_IDS).map(|chat| (chat.id, String::new())))
}

/// Programs whose config can be imported, and files.
pub(crate) fn import_sources(current: &OsStr) -> Vec<CompletionCandidate> {
    let programs = import::program_words();
    let begun =
        programs.filter(|name| current.to_str().is_some_and(|typed| name.starts_with(typed)));
    begun.map(CompletionCandidate::new).chain(PathCompleter::file().complete(current)).collect()
}

/// Loads the config that the command line would use. One that is invalid or not trusted counts as empty.
fn load() -> LoadedConfig {
    let loaded = settings::load_asking(config(&words()).as_deref(), TrustPrompt::Forbidden);
    let mut loaded = loaded.unwrap_or_default();
    // Completion must not use the network.
    loaded.settings.telemetry = Default::default();
    loaded.settings.cluster = Default::default();
    loaded
}

/// Returns the value of `--config` in the line; bash passes `=` as a separate word.
fn config(words: &[OsString]) -> Option<PathBuf> {
    let mut words = words.iter().filter(|word| *word != "=");
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().map(PathBuf::from);
        }
        if let Some(file) = word.to_str().and_then(|word| word.strip_prefix("--config=")) {
            return Some(file.into());
        }
    }
    None
}

/// The latest records, newest first.
fn recent(loaded: &LoadedConfig, most: usize) -> Vec<Record> {
    let folder = records::folder(loaded).filter(|folder| folder.exists());
    let folder = folder.and_then(|_| records::store_folder(loaded));
    let filter = Filter { limit: Some(most), ..Filter::default() };
    let read = folder.and_then(|folder| Reader::open(folder).ok()?.list(&filter).ok());
    read.unwrap_or_default()
}

/// Candidates by name, each once.
fn named(names: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let mut names: Vec<_> = names.collect();
    names.sort();
    names.dedup_by(|one, other| one.0 == other.0);
    in_order(names.into_iter())
}

/// Candidates in the given order, with the first line of their descriptions. Leaves out names with characters that are
/// special to a shell, because they may come from a server.
fn in_order(names: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@+".contains(c);
    let candidates = names.filter(|(name, _)| !name.is_empty() && name.chars().all(plain));
    let candidate = |(place, (name, about)): (usize, (String, String))| {
        let about: String = about.chars().take_while(|c| !c.is_control()).collect();
        let about = Some(about).filter(|about| !about.is_empty());
        CompletionCandidate::new(name).help(about.map(StyledStr::from)).display_order(Some(place))
    };
    candidates.enumerate().map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config_in(line: &str) -> Option<PathBuf> {
        let words: Vec<_> = line.split(' ').map(OsString::from).collect();
        config(&words)
    }

    #[test]
    fn the_config_of_the_line_is_used() {
        for line in
            ["s --config a.toml call ", "s call --config=a.toml ", "s --config = a.toml call "]
        {
            assert_eq!(config_in(line), Some("a.toml".into()), "{line}");
        }
        assert_eq!(config_in("s call --config"), None);
        assert_eq!(config_in("s call x"), None);
    }

    #[test]
    fn names_that_a_shell_would_read_otherwise_are_left_out() {
        let names =
            ["plain", "time__now", "$(reboot)", "a b", "x\u{1b}[2J", "a;b", "`id`", "*", ""];
        let names = names.map(|name| (name.to_owned(), "First\nSecond".to_owned()));
        let candidates = named(names.into_iter());
        let values: Vec<_> = candidates.iter().map(CompletionCandidate::get_value).collect();
        assert_eq!(values, ["plain", "time__now"]);
        assert_eq!(candidates[0].get_help().map(ToString::to_string).as_deref(), Some("First"));
    }
}
