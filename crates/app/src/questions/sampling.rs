//! A request of a server to the model: shown in full, and sent only if the person says yes.

use anyhow::anyhow;
use serde_json::Value;
use switchboard_gateway::sampling;
use switchboard_mcp_wire::sampling::SamplingRequest;
use switchboard_toolcall::{ErrorKind, QuestionKind, ToolError};

use super::{QuestionScreen, Sampler, gone, unshown};
use crate::{
    model::{self, ChosenModel},
    terminal::{self, text},
};

/// Asks whether the request may be sent to the model, and sends it.
pub(super) async fn ask(
    screen: &QuestionScreen<'_>,
    params: &Value,
    sampler: &Sampler,
) -> Result<Value, ToolError> {
    let request = SamplingRequest::read(params);
    let request = request.map_err(|reason| unshown(screen.asked, QuestionKind::Sample, &reason))?;
    let failed = |text: String| ToolError::new(ErrorKind::ToolError, text);
    let server = &screen.asked.server;
    let chosen = sampler.model().await.map_err(|error| {
        failed(format!(
            "MCP server '{server}' asked for a model's answer, and there is no model: {error:#}"
        ))
    })?;
    terminal::tell(&screen.opening("wants to ask your model", ""));
    terminal::tell(render(screen, &request).trim_end());
    let name = screen.paint.bold(&text::one_line(&chosen.name));
    let keys = [('y', "es"), ('n', "o")];
    match screen.key(&format!("  Ask {name} this, and give the answer to the server?"), &keys).await
    {
        Ok('y') => terminal::tell(&format!("  {}", screen.paint.green("allowed"))),
        Ok(_) => {
            terminal::tell(&format!("  {}", screen.paint.red("denied")));
            return Err(failed("the user does not allow that a model is asked".to_owned()));
        }
        Err(error) => return Err(gone(error)),
    }
    let answer = sampling::ask(&*chosen.model, &chosen.name, &request).await;
    answer.map_err(|error| failed(format!("the model '{}' failed: {error}", chosen.name)))
}

impl Sampler {
    async fn model(&self) -> anyhow::Result<ChosenModel> {
        match self {
            Self::Chosen(chosen) => Ok(chosen.clone()),
            Self::Usual(loaded) => model::choose(None, loaded).await,
            Self::None => Err(anyhow!("this command uses none")),
        }
    }
}

/// The whole request, because the person is responsible for sending it.
fn render(screen: &QuestionScreen<'_>, request: &SamplingRequest) -> String {
    let part = |who: &str, said: &str| {
        let said = if said.is_empty() { String::new() } else { screen.quoted(said) };
        format!("  {who}:\n{said}")
    };
    let mut shown = request.system.as_deref().map(|said| part("system", said)).unwrap_or_default();
    for message in &request.messages {
        shown.push_str(&part(
            if message.is_assistant { "assistant" } else { "user" },
            &message.text,
        ));
        if !message.pictures.is_empty() {
            shown.push_str(&format!("  pictures: {}\n", message.pictures.len()));
        }
    }
    if let Some(most) = request.max_tokens {
        shown.push_str(&format!("  at most {most} tokens\n"));
    }
    shown
}
