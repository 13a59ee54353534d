//! `switchboard ask`: one question, the answer on stdout (SPEC ML-8).

mod question;

use std::process::ExitCode;

use serde_json::{Value, json};
use switchboard_agent::{Agent, Config, Conversation, Outcome, RequestOptions};
use tokio::time::Instant;

use crate::{
    cli::{Ask, Cli},
    connections::{INTERRUPTED, Interrupted, Needs, is_watched, on_runtime, while_connected},
    house::House,
    model::{self, Chosen},
    rehearsal,
    settings::Loaded,
    talk::{self, Answers, Ending, Screen},
    terminal::{self, Paint},
};

pub(super) fn run(ask: &Ask, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = rehearsal::load(cli)?;
    let house = House::build(&loaded)?;
    let question = question::read(&ask.question)?;
    let outcome = on_runtime(async {
        // Who is asked is settled before anything is started.
        let chosen = model::choose(ask.asked.model.as_deref(), &loaded).await?;
        let config = config(ask, &loaded);
        let is_streamed = config.stream && !ask.json;
        let wishes = RequestOptions { whole_turns: !is_streamed, ..RequestOptions::default() };
        let agent = chosen.agent(&ask.asked, &house, config)?.with_options(wishes);
        while_connected(&house, &loaded, Needs::All, async |connections| {
            connections.ready(is_watched(ask.json)).await?;
            model::tell_unmatched(&ask.asked.tools, &house);
            answer(ask, cli, &question, is_streamed, &agent, &chosen).await
        })
        .await
    });
    match outcome {
        Err(error) if error.is::<Interrupted>() => Ok(ExitCode::from(INTERRUPTED)),
        other => other,
    }
}

fn config(ask: &Ask, loaded: &Loaded) -> Config {
    let mut config = loaded.settings.agent.clone();
    config.stream = (config.stream || ask.stream) && !ask.no_stream;
    config.time_budget = ask.timeout.or(config.time_budget);
    config
}

async fn answer(
    ask: &Ask,
    cli: &Cli,
    question: &str,
    is_streamed: bool,
    agent: &Agent,
    chosen: &Chosen,
) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let answers = if is_streamed { Answers::Streamed } else { Answers::Later };
    let mut screen = Screen::new(answers, !ask.json, cli.color);
    let mut conversation = ask.asked.conversation();
    conversation.say(question);
    let outcome = talk::turn(agent, &mut conversation, chosen, &mut screen).await?;
    let ending = Ending::of(outcome.as_ref(), chosen.model.provider(), agent.offers_tools());
    if ask.json {
        terminal::print(&report(&ending, outcome.as_ref(), &conversation).to_string())?;
    } else if let (Ending::Answer { text, .. }, false) = (&ending, is_streamed) {
        screen.print(text)?;
    }
    let paint = Paint::stderr(cli.color);
    if let Some(outcome) = outcome.filter(|_| screen.is_watched()) {
        let line = talk::summary(outcome.usage, began.elapsed());
        terminal::tell(&paint.dim(&format!("{line}, {}", chosen.name)));
    }
    ending.tell(paint);
    Ok(match ending {
        Ending::Answer { .. } => ExitCode::SUCCESS,
        Ending::Cancelled => ExitCode::from(INTERRUPTED),
        Ending::Nothing(_) => ExitCode::FAILURE,
    })
}

/// `{answer, messages, usage}`, and what went wrong.
fn report(ending: &Ending, outcome: Option<&Outcome>, conversation: &Conversation) -> Value {
    let mut messages = json!(conversation.messages());
    for message in messages.as_array_mut().into_iter().flatten() {
        // Only providers have a use for these, and they are long.
        if let Some(message) = message.as_object_mut() {
            message.retain(|key, _| !matches!(key.as_str(), "native" | "images" | "audio"));
        }
    }
    let usage = outcome.map(|outcome| outcome.usage).unwrap_or_default();
    let (answer, error) = match ending {
        Ending::Answer { text, .. } => (Some(text), None),
        Ending::Cancelled => (None, Some("cancelled")),
        Ending::Nothing(reason) => (None, Some(reason.as_str())),
    };
    let mut report = json!({"answer": answer, "messages": messages, "usage": usage});
    if let Some(error) = error {
        report["error"] = error.into();
    }
    report
}
