//! Parses responses: lines of JSON, or one.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::{
    Arguments, ModelError, StopReason, Usage,
    exchange::{ResponseReader, cut},
    json,
    sink::Sink,
    turn::{DraftCall, TurnDraft},
};

/// Fewer characters than this say nothing about a cut.
const SMALLEST_PROMPT: usize = 4_000;

/// More characters per token than any language or tokenizer has on average.
const CHARACTERS_PER_TOKEN: usize = 8;

/// Reads one response.
#[derive(Default)]
pub(crate) struct OllamaReader {
    /// The characters of the prompt, tools included.
    prompt: usize,
    num_ctx: u64,
    /// The most tokens that were asked for.
    num_predict: Option<u64>,
    has_tools: bool,
    text: String,
    thinking: String,
    calls: Vec<DraftCall>,
    ids: HashSet<String>,
    done: Option<String>,
    usage: Usage,
    prompt_tokens: Option<u64>,
}

impl ResponseReader for OllamaReader {
    fn message(&mut self, chunk: &Value, sink: &mut Sink<'_>) -> Result<bool, ModelError> {
        if let Some(message) = chunk.get("message") {
            self.take_message(message, sink);
        }
        if chunk.get("done") != Some(&Value::Bool(true)) {
            return Ok(false);
        }
        self.done = Some(json::text(chunk, "done_reason").unwrap_or("stop").to_owned());
        self.prompt_tokens = json::number(chunk, "prompt_eval_count");
        self.usage = Usage {
            input_tokens: self.prompt_tokens.unwrap_or_default(),
            output_tokens: json::number(chunk, "eval_count").unwrap_or_default(),
        };
        Ok(true)
    }

    fn whole(&mut self, answer: &Value, sink: &mut Sink<'_>) -> Result<(), ModelError> {
        self.message(answer, sink)?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<TurnDraft, ModelError> {
        let warning = self.warning();
        let written = self.usage.output_tokens;
        let stop = match self.done.as_deref() {
            None => return Err(cut()),
            Some("stop") => StopReason::Answer,
            // Ollama says the same of both limits; the one that we set is reached, or it was not that one.
            Some("length") if self.num_predict.is_some_and(|most| written >= most) => {
                StopReason::MaxTokens
            }
            Some("length") => StopReason::ContextFull,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        let native = (!self.thinking.is_empty()).then(|| json!({"thinking": self.thinking}));
        Ok(TurnDraft {
            content: self.text,
            reasoning: self.thinking,
            calls: self.calls,
            native,
            stop: Some(stop),
            usage: self.usage,
            warning,
            ..TurnDraft::default()
        })
    }
}

impl OllamaReader {
    pub(super) fn new(body: &Value) -> Self {
        let size = |key| body.get(key).map_or(0, |part: &Value| part.to_string().chars().count());
        let option = |key| json::number(&body["options"], key);
        Self {
            prompt: size("messages") + size("tools"),
            num_ctx: option("num_ctx").unwrap_or_default(),
            num_predict: option("num_predict"),
            has_tools: body.get("tools").is_some(),
            ..Self::default()
        }
    }

    fn take_message(&mut self, message: &Value, sink: &mut Sink<'_>) {
        if let Some(thinking) = json::text(message, "thinking") {
            sink.reasoning(thinking);
            self.thinking.push_str(thinking);
        }
        if let Some(text) = json::text(message, "content") {
            sink.text(text);
            self.text.push_str(text);
        }
        // Every chunk carries whole calls, all with the index 0 in old builds: never merge, only append.
        for call in json::items(message, "tool_calls") {
            let function = call.get("function").unwrap_or(call);
            let name = json::text(function, "name").unwrap_or_default().to_owned();
            let args =
                Arguments::from_value(function.get("arguments").cloned().unwrap_or_default());
            let call = DraftCall { id: json::id(call).map(str::to_owned), name, args };
            // The same id with the same words is the same call, said again.
            let known = call.id.as_ref().is_some_and(|id| !self.ids.insert(id.clone()));
            if !known || !self.calls.contains(&call) {
                sink.call(&call.name);
                self.calls.push(call);
            }
        }
    }

    /// Returns a warning if the server read far less than we sent, or filled its context.
    fn warning(&self) -> Option<String> {
        let read = usize::try_from(self.prompt_tokens?).unwrap_or(usize::MAX);
        let least = self.prompt / CHARACTERS_PER_TOKEN;
        (self.prompt >= SMALLEST_PROMPT && read < least).then(|| {
            let fewer_tools = if self.has_tools { " or offer fewer tools" } else { "" };
            format!(
                "Ollama read only {read} tokens of a prompt of {} characters: it was cut. \
                 Set a larger `num_ctx` (now {}){fewer_tools}.",
                self.prompt, self.num_ctx
            )
        })
    }
}
