//! The tools that every Switchboard has (SPEC LT-3).

use std::sync::Arc;

use serde::Deserialize;
use switchboard_toolcall::Tool;

use crate::{HandlerKind, Handlers};

mod arguments;
pub mod get_current_datetime;
pub mod search_web;
pub mod control_speaker_volume;
pub mod math_eval;
pub mod echo;

/// The settings of the built-in tools.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct BuiltinsConfig {
    /// Where `search_web` searches; without it the tool says how to configure it.
    #[serde(deserialize_with = "search_web::Config::checked")]
    pub search_web: Option<search_web::Config>,
    /// Which mixer `control_speaker_volume` works on.
    pub control_speaker_volume: control_speaker_volume::Config,
}

/// The built-in tools, in the order in which they are listed.
pub fn all(config: &BuiltinsConfig) -> Vec<Arc<dyn Tool>> {
    vec![
        get_current_datetime::tool(),
        search_web::tool(config.search_web.clone()),
        control_speaker_volume::tool(config.control_speaker_volume.clone()),
        math_eval::tool(),
        echo::tool(),
    ]
}

/// Registers `tools` as `builtin` handlers under their names, so that defined tools may reuse them.
pub fn register(tools: &[Arc<dyn Tool>], handlers: &Handlers) {
    for tool in tools {
        handlers.register_tool(HandlerKind::Builtin, Arc::clone(tool));
    }
}
