//! Which servers a command needs (SPEC TL-6).

use switchboard_runtime::ToolManager;

use crate::settings::LoadedConfig;

/// Which servers are to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs<'a> {
    /// No server: the tool is local, or does not exist.
    Nothing,
    /// This one.
    One(&'a str),
    /// All servers: any of them may have the tool.
    All,
    /// No server, but the groups of workers: one of them may have the tool.
    Groups,
    /// Each as its settings say: at once, or with the first call to it.
    AsSet,
    /// As [`AsSet`](Self::AsSet), without the groups of workers.
    Servers,
}

impl<'a> Needs<'a> {
    /// What a call of the tool `name` needs: nothing if it is local, its server for `server__tool`, else all.
    pub(crate) fn of_tool(name: &str, tools: &ToolManager, loaded: &'a LoadedConfig) -> Self {
        if tools.lookup(name).is_ok() || tools.is_skipped(name) {
            return Self::Nothing;
        }
        Self::of_name(name, tools.separator(), loaded)
    }

    /// What finding `name` on the servers needs: `server__name` its server, a bare name all.
    pub(crate) fn of_name(name: &str, separator: &str, loaded: &'a LoadedConfig) -> Self {
        let mut servers = loaded.enabled_servers();
        let Some((prefix, _)) = name.split_once(separator) else {
            return if loaded.has_others() { Self::All } else { Self::Nothing };
        };
        let is_meant = |server: &str, own: Option<&str>| server == prefix || own == Some(prefix);
        let meant = loaded.enabled_servers();
        let meant = meant.filter(|(server, config)| is_meant(server, config.prefix.as_deref()));
        let apis = loaded.settings.apis.keys().filter(|api| api.as_str() == prefix);
        let meant = meant.map(|(server, _)| server).chain(apis);
        match meant.map(String::as_str).collect::<Vec<_>>()[..] {
            [server] => Self::One(server),
            // The tools of servers without a prefix may have the separator in their own names.
            [] if !servers.any(|(_, config)| config.prefix.as_deref() == Some("")) => {
                match loaded.settings.cluster.nats.is_some() {
                    true => Self::Groups,
                    false => Self::Nothing,
                }
            }
            _ => Self::All,
        }
    }

    /// Whether the server is to be started.
    pub(crate) fn includes(self, server: &str) -> bool {
        match self {
            Self::Nothing | Self::Groups => false,
            Self::One(needed) => needed == server,
            Self::All | Self::AsSet | Self::Servers => true,
        }
    }

    /// Whether the command is long-running, so that somebody may fix a failed server meanwhile.
    pub(super) fn runs_on(self) -> bool {
        matches!(self, Self::AsSet | Self::Servers)
    }

    /// Whether the groups of workers are looked for.
    pub(super) fn includes_groups(self) -> bool {
        matches!(self, Self::All | Self::AsSet | Self::Groups)
    }
}
