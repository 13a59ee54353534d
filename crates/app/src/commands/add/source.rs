//! The server that the arguments of `add` describe: a command, a URL or a package, and the name that follows from it.

use std::{fmt::Display, path::Path};

use anyhow::{bail, ensure};
use serde_json::{Map, Value, json};

use super::{ServerEntry, sandbox};
use crate::cli::AddArgs;

/// How a server is started, or where it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestedServer<'a> {
    /// The name that the person gave it.
    given: Option<&'a str>,
    kind: SourceKind<'a>,
}

#[derive(Debug, PartialEq, Eq)]
enum SourceKind<'a> {
    Command(&'a [String]),
    Url(&'a str),
    /// A package of npm, started by `npx`.
    Npm(&'a str, &'a [String]),
    /// A package of PyPI, started by `uvx`.
    Pypi(&'a str, &'a [String]),
}

impl<'a> RequestedServer<'a> {
    /// # Errors
    /// The arguments name neither a command nor a URL, or both.
    pub(super) fn of(add: &'a AddArgs) -> anyhow::Result<Self> {
        let (given, place) = match (&add.source, package_or_url(&add.name, &add.command)) {
            (None, Some(kind)) => (None, Some(kind)),
            (None, None) => (Some(add.name.as_str()), None),
            (Some(source), _) => match package_or_url(source, &add.command) {
                Some(kind) => (Some(add.name.as_str()), Some(kind)),
                None => bail!(
                    "`{source}` is neither a URL nor npm:PACKAGE nor pypi:PACKAGE; a command stands after `--`: switchboard add {} -- {source} …",
                    add.name
                ),
            },
        };
        let kind = match place {
            Some(SourceKind::Url(_)) if !add.command.is_empty() => {
                bail!("a server has a URL or a command, not both")
            }
            Some(kind) => kind,
            None if add.command.is_empty() => bail!(
                "say what server `{}` is: a command after `--`, a URL, npm:PACKAGE or pypi:PACKAGE",
                add.name
            ),
            None => SourceKind::Command(&add.command),
        };
        if let SourceKind::Command([line]) = kind {
            let is_line = line.contains(' ') && !Path::new(line).exists();
            ensure!(
                !is_line,
                "there is no program `{line}`; without the quotes it is one with arguments: switchboard add {} -- {line}",
                add.name
            );
        }
        let is_url = matches!(kind, SourceKind::Url(_));
        ensure!(
            is_url || (add.header.is_empty() && !add.sse),
            "--header and --sse are for servers with a URL"
        );
        ensure!(
            !is_url || add.env.is_empty(),
            "--env is for servers that are started; one with a URL takes --header"
        );
        Ok(Self { given, kind })
    }

    /// Returns the server's name: the given one, or one made from its package or address.
    ///
    /// # Errors
    /// The given name has white space or the separator in it, so that its tools could not be called.
    pub(super) fn name(&self, separator: &str) -> anyhow::Result<String> {
        let Some(given) = self.given else {
            return Ok(self.usual_name().replace(separator, "-"));
        };
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
        ensure!(
            !given.is_empty() && given.chars().all(is_plain) && !given.contains(separator),
            "`{given}` cannot be a server's name: no spaces, and no `{separator}`, which stands between it and its tools' names"
        );
        Ok(given.to_owned())
    }

    fn usual_name(&self) -> String {
        match self.kind {
            SourceKind::Npm(package, _) | SourceKind::Pypi(package, _) => name_of_package(package),
            SourceKind::Url(url) => name_of_host(url),
            SourceKind::Command(_) => "server".to_owned(),
        }
    }

    /// Returns the entries of `[servers.NAME]`.
    ///
    /// # Errors
    /// A header or a variable has no value.
    pub(super) fn settings(&self, add: &AddArgs) -> anyhow::Result<ServerEntry> {
        let mut settings = match self.kind {
            SourceKind::Url(url) => entry([("url", json!(url))]),
            SourceKind::Command([program, args @ ..]) => started(program, &[], args),
            SourceKind::Command([]) => Map::new(),
            SourceKind::Npm(package, args) => started("npx", &["-y", package], args),
            SourceKind::Pypi(package, args) => started("uvx", &[package], args),
        };
        if add.sse {
            settings.insert("type".to_owned(), "sse".into());
        }
        let headers = pairs("--header", &add.header, ':', "NAME: VALUE")?;
        let variables = pairs("--env", &add.env, '=', "NAME=VALUE")?;
        for (key, values) in [("headers", headers), ("env", variables)] {
            if !values.is_empty() {
                settings.insert(key.to_owned(), Value::Object(values));
            }
        }
        if let Some(choice) = add.sandbox {
            let is_program = settings.contains_key("command");
            ensure!(is_program, "--sandbox is for servers that are started");
            sandbox::choose(&mut settings, choice);
        }
        Ok(settings)
    }
}

fn package_or_url<'a>(text: &'a str, args: &'a [String]) -> Option<SourceKind<'a>> {
    if let Some(package) = text.strip_prefix("npm:").filter(|package| !package.is_empty()) {
        return Some(SourceKind::Npm(package, args));
    }
    if let Some(package) = text.strip_prefix("pypi:").filter(|package| !package.is_empty()) {
        return Some(SourceKind::Pypi(package, args));
    }
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    is_url.then_some(SourceKind::Url(text))
}

fn entry<const N: usize>(pairs: [(&str, Value); N]) -> ServerEntry {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn started(program: &str, first: &[&str], more: &[String]) -> ServerEntry {
    let args: Vec<_> = first.iter().copied().chain(more.iter().map(String::as_str)).collect();
    match args.is_empty() {
        true => entry([("command", json!(program))]),
        false => entry([("command", json!(program)), ("args", json!(args))]),
    }
}

fn pairs(
    flag: impl Display,
    given: &[String],
    between: char,
    form: &str,
) -> anyhow::Result<ServerEntry> {
    let pair = |text: &String| match text.split_once(between) {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), Value::from(value.trim())))
        }
        _ => bail!("{flag} takes {form}, not `{text}`"),
    };
    given.iter().map(pair).collect()
}

/// `@modelcontextprotocol/server-filesystem@2026.1.14` → `filesystem`.
fn name_of_package(package: &str) -> String {
    let bare = package.rsplit('/').next().unwrap_or(package);
    let bare = bare.split(['@', '=', '<', '>', '~', '[']).next().unwrap_or(bare);
    let mut name = bare;
    for affix in ["mcp-server-", "server-", "mcp-"] {
        name = name.strip_prefix(affix).unwrap_or(name);
    }
    for affix in ["-mcp-server", "-server", "-mcp"] {
        name = name.strip_suffix(affix).unwrap_or(name);
    }
    // `@playwright/mcp` is called after its scope.
    match (name, package.strip_prefix('@').and_then(|scoped| scoped.split_once('/'))) {
        ("mcp" | "server" | "", Some((scope, _))) => scope.to_owned(),
        ("", None) => bare.to_owned(),
        _ => name.to_owned(),
    }
}

/// `https://mcp.linear.app/mcp` → `linear`.
fn name_of_host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = host.rsplit('@').next().unwrap_or(host);
    if host.starts_with('[') {
        return "server".to_owned();
    }
    let host = host.split(':').next().unwrap_or(host);
    if host.split('.').all(|part| part.parse::<u8>().is_ok()) {
        return "server".to_owned();
    }
    let mut parts: Vec<_> =
        host.split('.').filter(|part| !matches!(*part, "mcp" | "api" | "www")).collect();
    if parts.len() > 1 {
        parts.pop();
    }
    parts.last().map_or_else(|| "server".to_owned(), |part| (*part).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_addresses_give_names() {
        for (package, name) in [
            ("@modelcontextprotocol/server-filesystem", "filesystem"),
            ("@modelcontextprotocol/server-filesystem@2026.1.14", "filesystem"),
            ("mcp-server-time", "time"),
            ("mcp-server-git==1.0", "git"),
            ("@playwright/mcp", "playwright"),
            ("chrome-devtools-mcp", "chrome-devtools"),
            ("mongodb-mcp-server@latest", "mongodb"),
            ("@notionhq/notion-mcp-server", "notion"),
            ("mcp-atlassian", "atlassian"),
            ("time", "time"),
        ] {
            assert_eq!(name_of_package(package), name, "{package}");
        }
        for (url, name) in [
            ("https://mcp.linear.app/mcp", "linear"),
            ("https://docs.example.org:8443/mcp?x=1", "example"),
            ("http://localhost:9000/mcp", "localhost"),
            ("http://127.0.0.1:9000/mcp", "server"),
            ("http://[::1]:9000/mcp", "server"),
        ] {
            assert_eq!(name_of_host(url), name, "{url}");
        }
    }
}
