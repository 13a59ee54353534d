//! Compares what a server lists with the lock, and holds back what is not in it (SPEC LK-2).

use std::sync::Arc;

use serde_json::Value;
use switchboard_lock::{
    DefinitionKind, InstanceGate, LockMode, LockTrustError, PendingDefinition, ServerGate,
    TrustStamp,
};
use switchboard_mcp_wire::{List, Method, ServerChange};
use switchboard_runtime::{CheckedTools, WithheldTool};
use switchboard_toolcall::{ErrorKind, ToolError, ToolOrigin, ToolSpec};
use tokio::task::spawn_blocking;

use super::{
    server::{Server, ServerState},
    session::Session,
};

/// How many entries are compared on a serving thread; more are compared on another one.
const FEW: usize = 32;

impl Session {
    /// Returns the entries of a list that the lock has.
    pub(super) async fn admitted(&self, list: List, entries: Vec<Value>) -> Vec<Value> {
        let Some(gate) = self.gate.clone() else { return entries };
        let Some(kind) = kind(list) else { return screened(gate, entries).await };
        if gate.server().mode() == LockMode::Off || entries.len() <= FEW {
            return gate.admit(kind, entries);
        }
        // If comparing failed, nothing is known about the entries.
        spawn_blocking(move || gate.admit(kind, entries)).await.unwrap_or_default()
    }
}

/// Returns the entries as they are; what is suspicious in them is in the log.
async fn screened(gate: Arc<InstanceGate>, entries: Vec<Value>) -> Vec<Value> {
    if entries.len() <= FEW || gate.server().mode() == LockMode::Off {
        gate.screen_resources(&entries);
        return entries;
    }
    let screen = move || {
        gate.screen_resources(&entries);
        entries
    };
    spawn_blocking(screen).await.unwrap_or_default()
}

fn kind(list: List) -> Option<DefinitionKind> {
    match list {
        List::Tools => Some(DefinitionKind::Tool),
        List::Prompts => Some(DefinitionKind::Prompt),
        List::ResourceTemplates => Some(DefinitionKind::ResourceTemplate),
        List::Resources => None,
    }
}

impl Server {
    /// Returns what holds back definitions that are not in the lock.
    pub fn gate(&self) -> &Arc<ServerGate> {
        self.gate.server()
    }

    /// Returns the definitions that are not in the lock, or differ from it.
    pub fn pending_definitions(&self) -> Vec<PendingDefinition> {
        self.gate().pending()
    }

    /// Takes definitions that wait into the lock: those whose hashes are named. Returns their names.
    ///
    /// # Errors
    /// None of them waits, or the lock cannot be written.
    pub async fn trust(
        self: &Arc<Self>,
        hashes: Vec<String>,
        trusted: TrustStamp,
    ) -> Result<Vec<String>, LockTrustError> {
        let gate = self.gate().clone();
        let done = spawn_blocking(move || gate.trust(&hashes, &trusted)).await;
        let done = done.unwrap_or(Err(LockTrustError::NothingWaits));
        if done.is_ok() {
            self.lock_changed();
        }
        done
    }

    /// Compares everything with the lock again, because the lock has changed.
    pub fn lock_changed(self: &Arc<Self>) {
        self.tell(ServerChange::Prompts);
        self.tell(ServerChange::Resources);
        if self.is_per_user() {
            self.users_lock_changed();
        }
        self.copies.all().iter().for_each(Self::lock_changed);
        match self.state() {
            ServerState::Ready(_) => self.relist.notify_one(),
            // Its tools are still listed, and are compared as soon as it runs again.
            ServerState::Idle if self.starts() > 0 => self.wake.notify_one(),
            _ => {}
        }
    }

    /// Reads the lists besides the tools, so that people are told what waits there before a client asks for them.
    pub(super) fn check_other_lists(&self, session: &Arc<Session>) {
        if self.gate().mode() != LockMode::Off {
            let session = session.clone();
            tokio::spawn(async move { compare_other_lists(&session).await });
        }
    }

    /// Waits until all lists of the server have been compared with the lock, if it is connected.
    pub async fn compare_lists(&self) {
        if let (true, ServerState::Ready(session)) =
            (self.gate().mode() != LockMode::Off, self.state())
        {
            compare_other_lists(&session).await;
        }
    }

    /// Returns the tools that wait and that no other caller's list has as the lock does.
    pub(super) fn withheld_tools(&self, offered: &CheckedTools) -> Vec<WithheldTool> {
        if self.gate().mode() != LockMode::Enforce {
            return Vec::new();
        }
        let pending = self.pending_definitions().into_iter();
        let tools = pending.filter(|one| one.definition.kind == DefinitionKind::Tool);
        let mut withheld: Vec<_> = tools
            .filter(|one| !offered.contains(&one.definition.name))
            .map(|one| WithheldTool {
                reason: one.change.change.text(),
                hint: self.trust_hint(&one.definition.name),
                name: one.definition.name,
            })
            .collect();
        withheld.dedup_by(|one, other| one.name == other.name);
        withheld
    }

    /// Fails if this instance of the server lists the tool of a call otherwise than the lock: what is offered may come from the
    /// list of another one.
    ///
    /// # Errors
    /// `denied`, with what to type.
    pub(super) fn check_tool(&self, spec: &ToolSpec) -> Result<(), ToolError> {
        let ToolOrigin::Server { tool, .. } = &spec.origin else { return Ok(()) };
        let Some(reason) = self.gate.held_back(tool) else { return Ok(()) };
        let text = format!("Tool '{}' is denied: it {reason}", spec.name);
        Err(ToolError::new(ErrorKind::Denied, text).with_hint(self.trust_hint(tool)))
    }

    /// Fails if a method names a prompt or a resource template that is not in the lock.
    ///
    /// # Errors
    /// `denied`, with what to type.
    pub(super) fn check_lock(&self, method: Method, args: &Value) -> Result<(), ToolError> {
        let (kind, name) = match method {
            Method::GetPrompt => (DefinitionKind::Prompt, args["name"].as_str()),
            Method::Complete => match args["ref"]["type"].as_str() {
                Some("ref/prompt") => (DefinitionKind::Prompt, args["ref"]["name"].as_str()),
                _ => (DefinitionKind::ResourceTemplate, args["ref"]["uri"].as_str()),
            },
            Method::ReadResource | Method::Subscribe => return Ok(()),
        };
        let Some(name) = name.filter(|name| !self.gate().allows(kind, name)) else { return Ok(()) };
        let (noun, server) = (kind.noun(), self.name());
        let text =
            format!("The {noun} '{name}' of '{server}' is denied: it is not in the lock as it is");
        Err(ToolError::new(ErrorKind::Denied, text).with_hint(self.trust_hint(name)))
    }

    fn trust_hint(&self, name: &str) -> String {
        format!("switchboard trust {} {}", word(self.name()), word(name))
    }
}

async fn compare_other_lists(session: &Session) {
    session.instructions();
    for list in [List::Prompts, List::ResourceTemplates] {
        // A server that does not answer is noticed elsewhere.
        _ = session.list(list).await;
    }
}

/// Returns a word of a command line, quoted if it has to be.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
