//! `switchboard chat`: a conversation, line by line (SPEC ML-8).

mod command;
mod history;
mod lines;
mod list;
mod session;
pub(crate) mod store;

use std::process::ExitCode;

use switchboard_agent::{Conversation, Transcript};
use switchboard_models::Message;

use self::session::{ChatDeps, ChatSession};
use crate::{
    approvals,
    assembly::{App, Deps},
    cli::{ChatArgs, Cli},
    connections::{Needs, while_connected},
    interrupt::{INTERRUPTED, Interrupted, unless_interrupted},
    model::{self, ChosenModel},
    overrides,
    own_gateway::OwnGateway,
    profiles,
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::is_watched,
    terminal::{self, text},
};

pub(super) fn run(chat: &ChatArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    if chat.list {
        return list::run(chat, cli);
    }
    let mut loaded = overrides::load(cli)?;
    let profile = chat.model_args.profile.as_deref();
    profiles::check(&loaded, profile)?;
    let gateway = OwnGateway::find(cli, &loaded);
    if let Some(gateway) = &gateway {
        gateway.attach(&mut loaded, true, profile);
    }
    let approver = approvals::here_or_elsewhere(&loaded);
    let deps = Deps { approver, ..Deps::for_terminal(&loaded) };
    let app = App::build_with(&loaded, deps)?;
    let store = store::open();
    let transcript = match &chat.resume {
        Some(which) => Some(store::find(&store, which.as_deref())?),
        None => None,
    };
    let outcome = on_runtime(async {
        let chosen = choose(chat, transcript.as_ref(), &loaded).await?;
        chosen.tell_choice();
        chosen.check(&loaded).await?;
        let transcript = begun(chat, transcript, &chosen);
        let deps = ChatDeps { chat, cli, app: &app, loaded: &loaded };
        let session = ChatSession::new(deps, store, chosen, transcript)?;
        if let Some(gateway) = &gateway {
            unless_interrupted(gateway.wait_for_servers(&loaded, None)).await?;
        }
        while_connected(&app, &loaded, Needs::All, async |connections| {
            connections.ready(is_watched(false)).await?;
            model::tell_unmatched(&chat.model_args, &app, &loaded);
            session.run().await
        })
        .await
    });
    match outcome {
        Err(error) if error.is::<Interrupted>() => Ok(ExitCode::from(INTERRUPTED)),
        other => other,
    }
}

/// Returns the model of `-m`, or else that of the saved chat, or else the default.
async fn choose(
    chat: &ChatArgs,
    resumed: Option<&Transcript>,
    loaded: &LoadedConfig,
) -> anyhow::Result<ChosenModel> {
    let wanted = chat.model_args.model.as_deref();
    if let (None, Some(transcript)) = (wanted, resumed.filter(|chat| !chat.model.is_empty())) {
        match model::choose(Some(&transcript.model), loaded).await {
            Ok(chosen) => return Ok(chosen),
            Err(error) => {
                let error = text::lines(&format!("{error:#}"));
                terminal::tell(&format!("warning: the chat's model is left: {error}"));
            }
        }
    }
    model::choose(wanted, loaded).await
}

/// Returns the saved chat, or a new one; `--system` applies to both.
fn begun(chat: &ChatArgs, resumed: Option<Transcript>, chosen: &ChosenModel) -> Transcript {
    let Some(mut transcript) = resumed else {
        return Transcript::new(chosen.name.clone(), chat.model_args.conversation());
    };
    if chat.model_args.system.is_some() {
        let mut messages = chat.model_args.conversation().messages().to_vec();
        let old = transcript.messages.messages();
        let first = old.iter().position(|message| !matches!(message, Message::System(_)));
        messages.extend_from_slice(&old[first.unwrap_or(old.len())..]);
        transcript.messages = Conversation::from(messages);
    }
    transcript
}
