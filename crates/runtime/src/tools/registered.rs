//! A tool with what the executor needs to run it.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Map, Value};
use switchboard_toolcall::{
    ErrorKind, HumanDuration, Origin, Tool, ToolError, ToolSpec, Visibility,
};
use tokio::{sync::Semaphore, time::timeout};

use crate::validate::{self, Check, CheckSlots, Invalid, Judgement};

/// A tool with what the executor needs to run it.
pub struct RegisteredTool {
    pub(super) name: Arc<str>,
    /// `server__tool`, whatever it is shown as.
    pub(super) full: Arc<str>,
    pub(super) tool: Arc<dyn Tool>,
    pub(crate) check: Arc<Check>,
    /// What bounds it, from the narrowest: the tool's own slots, then its server's.
    pub(crate) slots: Vec<Arc<Semaphore>>,
    /// The hash of its definition, once somebody wants it.
    pub(crate) definition: Arc<OnceLock<[u8; 32]>>,
    /// What bounds how many checks of arguments run beside the serving threads.
    pub(crate) check_slots: CheckSlots,
}

impl RegisteredTool {
    /// The name under which it is shown.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its full name: `server__tool`, or the name of a local tool.
    pub fn full_name(&self) -> &Arc<str> {
        &self.full
    }

    /// Its shown, full and bare name, which may be the same. No other name finds it.
    pub fn names(&self) -> [&str; 3] {
        [&self.name, &self.full, bare_name(self.spec())]
    }

    /// What is known of it.
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Returns whether the tool exists for a caller: its shown or its full name is seen. Everything that lists,
    /// finds or tells of tools asks here, so that a caller sees the same everywhere.
    pub fn is_visible(&self, visibility: &Visibility) -> bool {
        visibility.sees_name(&self.name) || visibility.sees_name(&self.spec().name)
    }

    /// Whether a call with these arguments may pass validation, argument names fixed as a call fixes them. What would
    /// take long to check is left to the call.
    pub fn may_accept(self: &Arc<Self>, args: &Map<String, Value>) -> bool {
        match validate::judge(self, args.clone()) {
            Judgement::Now(_, invalid) => invalid.is_none(),
            Judgement::Later(_) => true,
        }
    }

    /// What a call with these arguments would be told before anything runs. Returns `None` if they fit.
    ///
    /// # Errors
    /// `timeout` if that takes longer than `limit`.
    pub async fn validate(
        self: &Arc<Self>,
        args: Map<String, Value>,
        limit: Duration,
    ) -> Result<Option<Invalid>, ToolError> {
        let judged = match validate::judge(self, args) {
            Judgement::Now(_, invalid) => return Ok(invalid),
            Judgement::Later(judged) => timeout(limit, judged).await,
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

    /// What a call must bring, as errors say it; none where nothing is required.
    pub fn required(&self) -> Option<String> {
        validate::required(&self.spec().parameters)
    }

    /// The tool itself.
    pub(crate) fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// The same tool under another name.
    pub(crate) fn shown_as(&self, name: Arc<str>) -> Self {
        Self {
            name,
            full: self.full.clone(),
            tool: self.tool.clone(),
            check: self.check.clone(),
            slots: self.slots.clone(),
            definition: self.definition.clone(),
            check_slots: self.check_slots.clone(),
        }
    }
}

/// The tool's name at its origin.
pub(super) fn bare_name(spec: &ToolSpec) -> &str {
    match &spec.origin {
        Origin::Server { tool, .. } => tool,
        Origin::Local => &spec.name,
    }
}
