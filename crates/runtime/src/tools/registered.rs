//! A tool with what the executor needs to run it.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Map, Value};
use switchboard_toolcall::{Origin, Tool, ToolError, ToolSpec, Visibility};
use tokio::sync::Semaphore;

use crate::{
    fixed, rename,
    validate::{self, Check, CheckSlots, Invalid},
};

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
    pub fn may_accept(&self, args: &Map<String, Value>) -> bool {
        self.check.may_accept(&self.prepare(args.clone()))
    }

    /// The arguments as the schema judges them: under the names that the tool's server expects, without those that the
    /// config fixes.
    pub(crate) fn prepare(&self, args: Map<String, Value>) -> Value {
        let mut args = rename::for_server(self.spec(), args);
        fixed::take_out(self.spec(), &mut args);
        Value::Object(args)
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
        validate::judge_within(self, self.prepare(args), limit).await
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
