//! `switchboard ask`: one question, the answer on stdout (SPEC ML-8).

mod question;
mod schema;

use std::process::ExitCode;

use serde_json::{Value, json};
use switchboard_agent::{Agent, AgentOutcome, Config, Conversation, RequestOptions, UnfinishedRun};
use tokio::time::Instant;

use crate::{
    approvals::HeldCalls,
    assembly::App,
    cli::{AskArgs, Cli},
    commands::chat::store::InterruptedTurn,
    connections::{Needs, while_connected},
    interrupt::{INTERRUPTED, Interrupted, unless_interrupted},
    model::{self, ChosenModel},
    overrides,
    own_gateway::OwnGateway,
    profiles,
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::is_watched,
    terminal::{self, Paint},
    turn_view::{self, AnswerDisplay, TurnEnding, TurnScreen},
};

pub(super) fn run(ask: &AskArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    begin(ask, cli, overrides::load(cli)?, None)
}

/// Asks the question, or goes on with an interrupted run.
pub(super) fn begin(
    ask: &AskArgs,
    cli: &Cli,
    mut loaded: LoadedConfig,
    unfinished: Option<UnfinishedRun>,
) -> anyhow::Result<ExitCode> {
    let profile = ask.model_args.profile.as_deref();
    profiles::check(&loaded, profile)?;
    let options = match &unfinished {
        Some(unfinished) => unfinished.start().settings.options()?,
        None => RequestOptions {
            answer: ask.schema.as_deref().map(schema::read).transpose()?,
            ..RequestOptions::default()
        },
    };
    let gateway = OwnGateway::find(cli, &loaded);
    if let Some(gateway) = &gateway {
        gateway.attach(&mut loaded, true, profile);
    }
    let app = App::build(&loaded)?;
    let begun = match unfinished {
        Some(unfinished) => AskedRun::Unfinished(Box::new(unfinished)),
        None => AskedRun::Question(question::read(&ask.question)?),
    };
    let outcome = on_runtime(async {
        // The model is chosen before any server is started.
        let chosen = model::choose(ask.model_args.model.as_deref(), &loaded).await?;
        chosen.tell_choice();
        chosen.check(&loaded).await?;
        let config = config(ask, &loaded);
        let is_streamed = config.stream && !ask.json && options.answer.is_none();
        let options = RequestOptions { whole_turns: !is_streamed, ..options };
        let agent = chosen.agent(&ask.model_args, &app, &loaded, config)?.with_options(options);
        if let Some(gateway) = &gateway {
            unless_interrupted(gateway.wait_for_servers(&loaded, None)).await?;
        }
        while_connected(&app, &loaded, Needs::All, async |connections| {
            connections.ready(is_watched(ask.json)).await?;
            model::tell_unmatched(&ask.model_args, &app, &loaded);
            let mut held = loaded.is_attached.then(|| HeldCalls::new(&loaded));
            answer(ask, cli, begun, is_streamed, &agent, &chosen, held.as_mut()).await
        })
        .await
    });
    match outcome {
        Err(error) if error.is::<Interrupted>() => Ok(ExitCode::from(INTERRUPTED)),
        other => other,
    }
}

fn config(ask: &AskArgs, loaded: &LoadedConfig) -> Config {
    let mut config = loaded.settings.agent.clone();
    config.stream = (config.stream || ask.stream) && !ask.no_stream;
    config.time_budget = ask.timeout.or(config.time_budget);
    config
}

/// What is to be answered.
enum AskedRun {
    /// A question.
    Question(String),
    /// What an interrupted run was about.
    Unfinished(Box<UnfinishedRun>),
}

async fn answer(
    ask: &AskArgs,
    cli: &Cli,
    begun: AskedRun,
    is_streamed: bool,
    agent: &Agent,
    chosen: &ChosenModel,
    held: Option<&mut HeldCalls>,
) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let answers = if is_streamed { AnswerDisplay::Streamed } else { AnswerDisplay::Later };
    let mut screen = TurnScreen::new(answers, !ask.json, cli.color);
    let mut conversation = ask.model_args.conversation();
    let unfinished = match begun {
        AskedRun::Question(question) => {
            conversation.say(question);
            None
        }
        AskedRun::Unfinished(unfinished) => Some(*unfinished),
    };
    let chat = unfinished.as_ref().and_then(|run| InterruptedTurn::of(run.start()));
    let outcome =
        turn_view::turn(agent, &mut conversation, unfinished, chosen, &mut screen, held).await?;
    if let (Some(chat), Some(_)) = (chat, &outcome) {
        chat.finish(&conversation)?;
    }
    let ending = TurnEnding::of(outcome.as_ref(), chosen.model.provider(), agent.offers_tools());
    if ask.json {
        terminal::print(&report(&ending, outcome.as_ref(), &conversation).to_string())?;
    } else if let (TurnEnding::Answer { text, .. }, false) = (&ending, is_streamed) {
        screen.print(text)?;
    }
    let paint = Paint::stderr(cli.color);
    if let Some(outcome) = outcome.filter(|_| screen.is_watched()) {
        let line = turn_view::summary(outcome.usage, began.elapsed());
        terminal::tell(&paint.dim(&format!("{line}, {}", chosen.name)));
    }
    ending.tell(paint);
    Ok(match ending {
        TurnEnding::Answer { .. } => ExitCode::SUCCESS,
        TurnEnding::Cancelled => ExitCode::from(INTERRUPTED),
        TurnEnding::Nothing(_) => ExitCode::FAILURE,
    })
}

/// Returns `{answer, messages, usage, run_id, shortened}`, with the error if there is one.
fn report(
    ending: &TurnEnding,
    outcome: Option<&AgentOutcome>,
    conversation: &Conversation,
) -> Value {
    let mut messages = json!(conversation.messages());
    for message in messages.as_array_mut().into_iter().flatten() {
        // Only providers have a use for these, and they are long.
        if let Some(message) = message.as_object_mut() {
            message.retain(|key, _| !matches!(key.as_str(), "native" | "images" | "audio"));
        }
    }
    let usage = outcome.map(|outcome| outcome.usage).unwrap_or_default();
    let (answer, error) = match ending {
        TurnEnding::Answer { text, .. } => (Some(text), None),
        TurnEnding::Cancelled => (None, Some("cancelled")),
        TurnEnding::Nothing(reason) => (None, Some(reason.as_str())),
    };
    let mut report = json!({
        "answer": answer,
        "messages": messages,
        "usage": usage,
        "run_id": outcome.and_then(|outcome| outcome.run_id),
        "shortened": outcome.map_or(&[][..], |outcome| &outcome.shortened),
    });
    if let Some(outcome) = outcome.filter(|outcome| !outcome.summarised.is_empty()) {
        report["summarised"] = json!(outcome.summarised);
    }
    if let Some(cost) = outcome.and_then(|outcome| outcome.cost) {
        report["cost"] = json!(cost);
    }
    if let Some(error) = error {
        report["error"] = error.into();
    }
    report
}
