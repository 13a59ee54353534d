//! The window of a model that Ollama runs: the one that requests ask for.

use super::convert::DEFAULT_NUM_CTX;
use crate::ModelConfig;

pub(super) async fn ask(config: &ModelConfig) -> Option<u64> {
    Some(u64::from(config.num_ctx.unwrap_or(DEFAULT_NUM_CTX)))
}
