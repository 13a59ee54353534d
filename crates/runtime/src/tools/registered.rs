//! A tool with what the executor needs to run it.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Map, Value};
use switchboard_toolcall::{
    ErrorKind, HumanDuration, Tool, ToolError, ToolOrigin, ToolSpec, Visibility,
};
use tokio::{sync::Semaphore, time::timeout};

use crate::{
    tool_cost,
    validate::{self, ArgumentCheck, CheckSlots, InvalidArguments, SchemaCheck},
};

/// A tool with what the executor needs to run it.
pub struct RegisteredTool {
    pub(super) name: Arc<str>,
    /// `server__tool`, whatever name is shown.
    pub(super) full: Arc<str>,
    pub(super) tool: Arc<dyn Tool>,
    pub(crate) check: Arc<SchemaCheck>,
    /// Limits concurrency, from the narrowest: the tool's own slots, then its server's.
    pub(crate) slots: Vec<Arc<Semaphore>>,
    /// The hash of its definition, computed on first use.
    pub(crate) definition: Arc<OnceLock<[u8; 32]>>,
    /// How many bytes its definition has, computed on first use.
    pub(crate) definition_bytes: Arc<OnceLock<usize>>,
    /// Limits how many checks of arguments run besides the serving threads.
    pub(crate) check_slots: CheckSlots,
    /// The tool as it is outside of the profile that shows this one; `None` if this is that.
    pub(super) original: Option<Arc<RegisteredTool>>,
}

impl RegisteredTool {
    /// Returns the name that is shown.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the full name: `server__tool`, or the name of a local tool.
    pub fn full_name(&self) -> &Arc<str> {
        &self.full
    }

    /// Returns the shown, full and bare name, which may be the same: those outside of a profile, where no other name finds it.
    pub fn names(&self) -> [&str; 3] {
        let original = self.original();
        [&original.name, &original.full, bare_name(original.spec())]
    }

    /// Returns the tool as it is outside of profiles.
    pub fn original(&self) -> &Self {
        self.original.as_deref().unwrap_or(self)
    }

    /// Returns whether the tool exists for a caller: one of its names is visible. Whether it looks the same to the caller is
    /// for [`ToolManager::view`](super::ToolManager::view) to say.
    pub fn is_visible(&self, visibility: &Visibility) -> bool {
        let original = self.original();
        let shown = self.is_renamed().then_some(&*self.name);
        match original.name == original.full {
            true => visibility.sees_names(&[&original.name], shown),
            false => visibility.sees_names(&[&original.name, &original.full], shown),
        }
    }

    /// Returns whether a profile shows it under another name: then its other names find nothing there.
    pub fn is_renamed(&self) -> bool {
        self.name != self.original().name
    }

    /// Returns its definition.
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Returns whether a call with these arguments may pass validation, after renaming arguments. A check that takes
    /// long is left to the call.
    pub fn may_accept(self: &Arc<Self>, args: &Map<String, Value>) -> bool {
        match validate::judge(self, args.clone()) {
            ArgumentCheck::Now(_, invalid) => invalid.is_none(),
            ArgumentCheck::Later(_) => true,
        }
    }

    /// Returns the error that a call with these arguments would get before anything runs. `None` if they are valid.
    ///
    /// # Errors
    /// `timeout` if the check takes longer than `limit`.
    pub async fn validate(
        self: &Arc<Self>,
        args: Map<String, Value>,
        limit: Duration,
    ) -> Result<Option<InvalidArguments>, ToolError> {
        let judged = match validate::judge(self, args) {
            ArgumentCheck::Now(_, invalid) => return Ok(invalid),
            ArgumentCheck::Later(judged) => timeout(limit, judged).await,
        };
        match judged {
            Ok(judged) => judged.map(|(_, invalid)| invalid),
            Err(_) => {
                let (name, limit) = (self.name(), HumanDuration(limit));
                let text =
                    format!("The arguments of tool '{name}' were not checked within {limit}");
                Err(ToolError::new(ErrorKind::Timeout, text))
            }
        }
    }

    /// Returns the required parameters, as errors list them. `None` if there are none.
    pub fn required(&self) -> Option<String> {
        validate::required(&self.spec().parameters)
    }

    /// Returns how many bytes its definition has, as models get it.
    pub(crate) fn definition_bytes(&self) -> usize {
        *self.definition_bytes.get_or_init(|| tool_cost::definition(self).len())
    }

    /// Returns the tool itself.
    pub(crate) fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// Returns the same tool under another name.
    pub(crate) fn shown_as(&self, name: Arc<str>) -> Self {
        Self {
            name,
            full: self.full.clone(),
            tool: self.tool.clone(),
            check: self.check.clone(),
            slots: self.slots.clone(),
            definition: self.definition.clone(),
            definition_bytes: self.definition_bytes.clone(),
            check_slots: self.check_slots.clone(),
            original: self.original.clone(),
        }
    }

    /// Returns the tool as a profile shows it.
    pub(crate) fn of_profile(
        original: &Arc<Self>,
        name: Arc<str>,
        tool: Arc<dyn Tool>,
        check: Arc<SchemaCheck>,
    ) -> Self {
        Self {
            name,
            full: original.full.clone(),
            tool,
            check,
            slots: original.slots.clone(),
            definition: original.definition.clone(),
            definition_bytes: Arc::default(),
            check_slots: original.check_slots.clone(),
            original: Some(original.clone()),
        }
    }
}

/// Returns the tool's name at its server.
pub(super) fn bare_name(spec: &ToolSpec) -> &str {
    match &spec.origin {
        ToolOrigin::Server { tool, .. } => tool,
        ToolOrigin::Local => &spec.name,
    }
}
