//! Finds a tool by name.

use std::{sync::Arc, time::Duration};

use switchboard_toolcall::{CallContext, ErrorKind, ToolCall, ToolError, Visibility};
use tracing::warn;

use crate::{
    dispatch,
    record::CallRecord,
    tools::{RegisteredTool, ServerLink, ToolManager, WithheldTool},
};

/// How many close names are suggested.
const SUGGESTIONS: usize = 3;

impl ToolManager {
    /// Returns the tool with this name, if there is one.
    fn known(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        let registry = self.read();
        let Some(named) = registry.names.get(name) else {
            return registry.method(name, &self.separator).cloned();
        };
        if named.ambiguous {
            let taken = named.tool.name();
            warn!(tool = name, "several servers have '{name}'; it is taken as '{taken}'");
        }
        Some(named.tool.clone())
    }

    /// Returns the tool with this name, if there is one, without logging or suggesting others.
    pub fn get(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        let registry = self.read();
        let named = registry.names.get(name).map(|named| &named.tool);
        named.or_else(|| registry.method(name, &self.separator)).cloned()
    }

    /// Returns whether a call may get as far as the policy: the tool exists, or its server may still be connecting, and
    /// the arguments are valid.
    pub(crate) fn may_run(&self, call: &ToolCall, visibility: &Visibility) -> bool {
        if let Some(tool) = self.get_for(&call.name, visibility) {
            return !self.is_denied(&tool) && tool.may_accept(&call.args);
        }
        let Some((prefix, _)) = call.name.split_once(&self.separator) else { return false };
        let registry = self.read();
        match registry.server_of(prefix).and_then(|server| registry.servers.get(server)) {
            Some(server) => server.link().is_some() && server.tools.is_empty(),
            None => self.late_discovery().is_some(),
        }
    }

    /// Returns the tool with this name: its full name `server__tool`, or its bare name.
    ///
    /// # Errors
    /// `not_found`, with similar names; `unknown_server` if no server has the prefix; `unavailable` if the tool is
    /// skipped; `denied` if nobody has trusted it yet.
    pub fn lookup(&self, name: &str) -> Result<Arc<RegisteredTool>, ToolError> {
        if let Some(tool) = self.known(name) {
            return Ok(tool);
        }
        let registry = self.read();
        if let Some(reason) = registry.skipped.get(name) {
            let text = format!("Tool '{name}' is skipped: {reason}");
            return Err(ToolError::new(ErrorKind::Unavailable, text));
        }
        if let Some(WithheldTool { reason, hint, .. }) = registry.withheld(name, &self.separator) {
            let text = format!("Tool '{name}' is denied: it {reason}");
            return Err(ToolError::new(ErrorKind::Denied, text).with_hint(hint));
        }
        match name.split_once(&self.separator) {
            Some((prefix, tool))
                if !prefix.is_empty()
                    && !tool.is_empty()
                    && !registry.knows_prefix(prefix, &self.separator) =>
            {
                let text = format!("Unknown MCP server '{prefix}' in tool name '{name}'");
                let error = ToolError::new(ErrorKind::UnknownServer, text);
                let close = close_names(prefix, registry.prefixes());
                let meant = close.iter().map(|server| format!("{server}{}{tool}", self.separator));
                Err(with_close_names(error, &meant.collect::<Vec<_>>()))
            }
            _ => {
                let listed =
                    registry.names.iter().filter(|(_, named)| !self.is_denied(&named.tool));
                Err(not_found(name, listed.map(|(known, _)| &**known)))
            }
        }
    }

    /// Like [`lookup`](Self::lookup), but if the name belongs to a server whose tools are not known yet, waits for that
    /// server only.
    ///
    /// # Errors
    /// As [`lookup`](Self::lookup), or the server could not be connected to.
    pub async fn find(&self, name: &str) -> Result<Arc<RegisteredTool>, ToolError> {
        self.find_visible(name, &Visibility::default()).await
    }

    /// Like [`find`](Self::find), for a caller from whom tools may be hidden: a hidden tool or server is
    /// indistinguishable from one that does not exist, by the error and by the time it takes.
    pub async fn find_visible(
        &self,
        name: &str,
        visibility: &Visibility,
    ) -> Result<Arc<RegisteredTool>, ToolError> {
        let Some(original) = visibility.resolve(name) else {
            return Err(self.hidden(name, visibility));
        };
        if let Some(tool) = self.known(&original) {
            if let Some(late_discovery) = self.may_be_a_groups(&original, &tool) {
                late_discovery.ready().await?;
                return self.lookup_visible(name, visibility);
            }
            return self.seen(name, &tool, visibility);
        }
        let Some((prefix, own)) = original.split_once(&self.separator) else {
            return self.lookup_visible(name, visibility);
        };
        if visibility.hides_tools() && !self.may_become_visible(&original, prefix, own, visibility)
        {
            return Err(self.hidden(name, visibility));
        }
        // The servers themselves may still be unknown for a moment.
        if !self.read().knows_prefix(prefix, &self.separator)
            && let Some(late_discovery) = self.late_discovery()
        {
            late_discovery.ready().await?;
        }
        let link = self.read().link(prefix).cloned();
        if let Some(link) = link {
            link.ready().await?;
        }
        self.lookup_visible(name, visibility)
    }

    fn lookup_visible(
        &self,
        name: &str,
        visibility: &Visibility,
    ) -> Result<Arc<RegisteredTool>, ToolError> {
        let Some(original) = visibility.resolve(name) else {
            return Err(self.hidden(name, visibility));
        };
        match self.lookup(&original) {
            Ok(tool) => self.seen(name, &tool, visibility),
            Err(error) if !visibility.hides_tools() => Err(error),
            Err(error)
                if (self.is_skipped(&original) || error.kind == ErrorKind::Denied)
                    // What is said of a tool names it, and a profile may have another name for it.
                    && original == name
                    && visibility.sees_name(name) =>
            {
                Err(error)
            }
            _ => Err(self.hidden(name, visibility)),
        }
    }

    /// Returns the tool as the caller sees it, if that is under this name.
    pub(crate) fn view_as(
        &self,
        name: &str,
        tool: &Arc<RegisteredTool>,
        visibility: &Visibility,
    ) -> Option<Arc<RegisteredTool>> {
        if visibility.profile().is_none() {
            return tool.is_visible(visibility).then(|| tool.clone());
        }
        self.view(tool, visibility).filter(|seen| !seen.is_renamed() || **seen.name() == *name)
    }

    /// Returns the tool that `name` finds as the caller sees it.
    fn seen(
        &self,
        name: &str,
        tool: &Arc<RegisteredTool>,
        visibility: &Visibility,
    ) -> Result<Arc<RegisteredTool>, ToolError> {
        let seen = self.view_as(name, tool, visibility);
        seen.ok_or_else(|| self.hidden(name, visibility))
    }

    /// Returns whether a tool of a server that is not connected yet would be visible, by its shown or its full name.
    fn may_become_visible(
        &self,
        name: &str,
        prefix: &str,
        own: &str,
        visibility: &Visibility,
    ) -> bool {
        let full = |server| format!("{server}{}{own}", self.separator);
        visibility.sees_name(name)
            || self
                .read()
                .server_of(prefix)
                .is_some_and(|server| visibility.sees_name(&full(server)))
    }

    /// Returns the error for a tool that does not exist for the caller, with hints among those that do.
    pub fn hidden(&self, name: &str, visibility: &Visibility) -> ToolError {
        let registry = self.read();
        let seen = registry.names.iter().filter_map(|(known, named)| {
            let seen = self.view(&named.tool, visibility).filter(|seen| !self.is_denied(seen))?;
            let shown = if seen.is_renamed() { seen.name() } else { known };
            Some(shown.clone())
        });
        let mut seen: Vec<_> = seen.collect();
        seen.sort_unstable();
        seen.dedup();
        not_found(name, seen.iter().map(|known| &**known))
    }

    /// Like [`find`](Self::find), within the call's deadline.
    pub(crate) async fn find_for(
        &self,
        record: &CallRecord,
        cx: &CallContext,
    ) -> Result<Arc<RegisteredTool>, ToolError> {
        let (name, original) = (record.name(), &*record.start().tool);
        let is_certain =
            |tool: &Arc<RegisteredTool>| self.may_be_a_groups(original, tool).is_none();
        let known = self.known(original).filter(is_certain);
        match known.and_then(|tool| self.view_as(name, &tool, &cx.visibility)) {
            Some(tool) => Ok(tool),
            None => {
                if let Some(timeout) = self.timeout_of(original) {
                    record.expects(timeout);
                }
                dispatch::within(self.find_visible(name, &cx.visibility), cx, record).await
            }
        }
    }

    /// Returns how long a call of `name` may take by its own or its server's settings, whether or not the server is
    /// connected.
    pub fn timeout_of(&self, name: &str) -> Option<Duration> {
        if let Some(tool) = self.get(name) {
            return tool.spec().settings.timeout;
        }
        let (prefix, own) = name.split_once(&self.separator)?;
        self.read().link(prefix)?.timeout(own)
    }

    /// Returns what to wait for if the name may belong to a group of workers that was not discovered yet: a bare name
    /// that contains the separator.
    fn may_be_a_groups(&self, name: &str, tool: &RegisteredTool) -> Option<&Arc<dyn ServerLink>> {
        let [_, full, bare] = tool.names();
        let is_open = name == bare && name != full && name.contains(&self.separator);
        self.late_discovery().filter(|_| is_open)
    }
}

fn not_found<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> ToolError {
    let error = ToolError::new(ErrorKind::NotFound, format!("Tool '{name}' not found"));
    with_close_names(error, &close_names(name, known))
}

fn with_close_names(error: ToolError, close: &[impl AsRef<str>]) -> ToolError {
    if close.is_empty() {
        return error;
    }
    let names: Vec<_> = close.iter().map(AsRef::as_ref).collect();
    error.with_hint(format!("Did you mean: {}", names.join(", ")))
}

/// Returns the names that `name` may be a misspelling of, the most similar first.
pub fn close_names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // A hostile name must not cost more than an ordinary one.
    if name.len() > 128 {
        return Vec::new();
    }
    let wanted = name.to_lowercase();
    let mut close: Vec<(usize, &str)> = known
        .filter_map(|known| {
            let distance = strsim::damerau_levenshtein(&wanted, &known.to_lowercase());
            (distance <= 1.max(wanted.chars().count() / 3)).then_some((distance, known))
        })
        .collect();
    close.sort_unstable();
    close.truncate(SUGGESTIONS);
    close.into_iter().map(|(_, known)| known).collect()
}
