//! A turn of a model, as those who watch calls learn of it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

/// One response of a model, between the calls that it asks for. Turns are told, not recorded.
#[derive(Clone, Copy, Debug)]
pub struct ModelTurn<'a> {
    /// When the model was asked.
    pub started: SystemTime,
    /// How long it took to answer.
    pub duration: Duration,
    /// The stable code of what went wrong, if something did.
    pub error: Option<&'a str>,
    /// Who asked.
    pub caller: Option<&'a Arc<str>>,
    /// The conversation that it is part of, as for calls.
    pub conversation: Option<&'a str>,
    /// The model's name at its provider.
    pub model: &'a str,
    /// The provider's name.
    pub provider: &'a str,
    /// How many tokens went in; 0 if the provider does not say.
    pub input_tokens: u64,
    /// How many tokens came out; 0 if the provider does not say.
    pub output_tokens: u64,
}
