//! Configs of Claude Desktop, Cursor, VS Code, Codex, goose and others, taken as they are (SPEC MC-8).
//!
//! Their servers become entries of `[servers]`: keys that we know are kept, under our names; all others are ignored.
//! `${input:x}` stays until the server is started, because only then the person is asked for it.

mod collect;
mod dialect;
mod entry;
pub(super) mod env_file;
mod names;
mod permissions;
mod syntax;
mod tool_rules;
mod variables;

use std::{
    collections::{BTreeSet, HashSet},
    path::PathBuf,
};

use self::entry::Entry;
use super::{
    inputs::{self, ConfigInput},
    missing::MissingValue,
    node::{ConfigKey, ConfigNode, NodeContent},
    problem::{ConfigProblem, PathStep},
    skipped,
    substitute::{self, Meaning},
};

pub(super) use collect::Projects;
pub(crate) use dialect::Dialect;
pub(super) use dialect::{recognise, recognise_yaml};
pub(crate) use tool_rules::ToolRules;
pub(super) use variables::{Workspace, environment_name, for_import, for_use};

/// The servers of a foreign config.
#[derive(Debug)]
pub(super) struct ForeignConfig {
    pub(super) servers: Vec<AdoptedServer>,
    /// The definitions of its `${input:…}`.
    pub(super) inputs: Vec<ConfigInput>,
}

/// A foreign server as an entry of `[servers]`.
#[derive(Debug)]
pub(super) struct AdoptedServer {
    /// The name that it has with us.
    pub(super) key: ConfigKey,
    /// The name that it has there.
    pub(super) given: String,
    pub(super) node: ConfigNode,
    /// A file with more of its environment.
    env_file: Option<ConfigNode>,
    /// The variables that came from that file.
    pub(super) from_env_file: Vec<String>,
    /// The rules for its tools in that config.
    pub(super) rules: ToolRules,
    /// Its keys that mean nothing to us.
    pub(super) dropped: Vec<String>,
    /// The variables whose values the other program keeps elsewhere.
    pub(super) variables: Vec<String>,
    /// The folder of the project that it belongs to.
    pub(super) project: Option<PathBuf>,
    /// Why only the other program can use it.
    pub(super) problem: Option<String>,
}

/// Takes the servers out of a foreign config.
///
/// # Errors
/// Two servers have the same name.
pub(super) fn adopt(
    root: &ConfigNode,
    dialect: Dialect,
    separator: &str,
    projects: Projects,
) -> Result<ForeignConfig, ConfigProblem> {
    let inputs = match dialect {
        Dialect::Settings => dialect::settings(root),
        _ => Some(root),
    };
    let inputs = inputs.and_then(|parent| parent.get("inputs"));
    let inputs = inputs.map(inputs::read).unwrap_or_default();
    let (section, entries) = collect::servers(root, dialect, projects);
    let mut taken = HashSet::new();
    let mut servers = Vec::with_capacity(entries.len());
    for collect::ForeignEntry { key, node, project, is_off } in entries {
        let name = names::usable(&key.name, separator);
        if !taken.insert((project.clone(), name.clone())) {
            let what = format!("two servers are called `{name}`; rename one of them");
            return Err(ConfigProblem::new(what).at(key.line).inside(PathStep::key(section)));
        }
        let (node, entry) = Entry::read(node, dialect);
        let Entry { env_file, rules, dropped, variables, problem, .. } = entry;
        let mut server = AdoptedServer {
            key: ConfigKey { name, line: key.line },
            given: key.name,
            node,
            env_file,
            from_env_file: Vec::new(),
            rules,
            dropped,
            variables,
            project,
            problem,
        };
        if is_off {
            server.switch_off();
        }
        servers.push(server);
    }
    permissions::apply(root, dialect, &mut servers);
    Ok(ForeignConfig { servers, inputs })
}

impl ForeignConfig {
    /// Applies another file of the program that has rules for the servers: Claude Code's `settings.json`, goose's
    /// `permission.yaml`.
    pub(super) fn apply_permissions(&mut self, root: &ConfigNode, dialect: Dialect) {
        match dialect {
            Dialect::Goose => permissions::goose(root, &mut self.servers),
            _ => permissions::claude_code(root, &mut self.servers),
        }
    }

    /// Returns the config's rules for tools as our `[policy]`; `None` if there are none.
    ///
    /// Only tools that are denied or asked about by name: which tools run without asking concerns only the other program.
    pub(super) fn policy(&self, separator: &str) -> Option<(ConfigKey, ConfigNode)> {
        let mut lists = [("deny", Vec::new()), ("ask", Vec::new())];
        for server in self.servers.iter().filter(|server| server.problem.is_none()) {
            for (list, (_, patterns)) in
                lists.iter_mut().zip(server.rules.patterns(&server.key.name, separator))
            {
                list.1.extend(patterns);
            }
        }
        let lists = lists.into_iter().filter(|(_, patterns)| !patterns.is_empty());
        let lists: Vec<_> = lists
            .map(|(name, patterns)| {
                let patterns =
                    patterns.into_iter().map(|text| ConfigNode::new(1, NodeContent::Text(text)));
                let key = ConfigKey { name: name.to_owned(), line: 1 };
                (key, ConfigNode::new(1, NodeContent::List(patterns.collect())))
            })
            .collect();
        let key = ConfigKey { name: "policy".to_owned(), line: 1 };
        (!lists.is_empty()).then(|| (key, ConfigNode::new(1, NodeContent::Table(lists))))
    }

    /// Returns the servers as a config of ours, with no variable filled in and `envFile` kept.
    pub(super) fn as_node(&self) -> ConfigNode {
        let servers = self.servers.iter().map(|AdoptedServer { key, node, env_file, .. }| {
            let mut node = node.clone();
            if let (NodeContent::Table(entries), Some(file)) = (&mut node.content, env_file) {
                let key = ConfigKey { name: "envFile".to_owned(), line: file.line };
                entries.push((key, file.clone()));
            }
            (key.clone(), node)
        });
        let servers = ConfigNode::new(1, NodeContent::Table(servers.collect()));
        let key = ConfigKey { name: "servers".to_owned(), line: 1 };
        ConfigNode::new(1, NodeContent::Table(vec![(key, servers)]))
    }
}

impl AdoptedServer {
    /// Keeps the server without using it.
    fn switch_off(&mut self) {
        if let NodeContent::Table(entries) = &mut self.node.content {
            entries.retain(|(key, _)| key.name != "enabled");
            let key = ConfigKey { name: "enabled".to_owned(), line: self.key.line };
            entries.push((key, ConfigNode::new(self.key.line, NodeContent::Bool(false))));
        }
    }

    /// Fills in the variables, and reads `envFile`. Returns the values that are missing.
    ///
    /// # Errors
    /// A variable is unknown, or the file cannot be read.
    pub(super) fn fill(
        &mut self,
        meaning: Meaning<'_>,
        workspace: &Workspace,
    ) -> Result<BTreeSet<MissingValue>, ConfigProblem> {
        self.fill_in(meaning, workspace).map_err(|problem| {
            problem.inside(PathStep::key(&self.key.name)).inside(PathStep::key("servers"))
        })
    }

    fn fill_in(
        &mut self,
        meaning: Meaning<'_>,
        workspace: &Workspace,
    ) -> Result<BTreeSet<MissingValue>, ConfigProblem> {
        let mut missing = skipped::fill_server(&mut self.node, meaning)?;
        let env_file = self.env_file.take().filter(|_| !self.node.is_switched_off());
        let Some(mut file) = env_file else { return Ok(missing) };
        let in_file = |problem: ConfigProblem| problem.inside(PathStep::key("envFile"));
        let path =
            skipped::tolerating(meaning, |tolerant| substitute::variables(&mut file, tolerant));
        missing.extend(path.map_err(in_file)?);
        if missing.is_empty() {
            self.from_env_file =
                env_file::add(&mut self.node, &file, workspace).map_err(in_file)?;
        }
        Ok(missing)
    }
}

#[cfg(test)]
mod tests;
