//! `switchboard chat`: a conversation, line by line (SPEC ML-8).

mod command;
mod history;
mod lines;
mod list;
mod session;
mod store;
mod transcript;

use std::process::ExitCode;

use switchboard_agent::Conversation;
use switchboard_models::Message;

use self::{
    session::{Around, Session},
    store::Store,
    transcript::Transcript,
};
use crate::{
    approvals,
    cli::{Chat, Cli},
    connections::{INTERRUPTED, Interrupted, Needs, is_watched, on_runtime, while_connected},
    house::{self, House},
    model::{self, Chosen},
    rehearsal,
    settings::Loaded,
    terminal::{self, text},
};

pub(super) fn run(chat: &Chat, cli: &Cli) -> anyhow::Result<ExitCode> {
    if chat.list {
        return list::run(chat, cli);
    }
    let loaded = rehearsal::load(cli)?;
    let approver = approvals::here_or_elsewhere(&loaded);
    let around = house::Around { approver, ..house::Around::usual(&loaded) };
    let house = House::build_in(&loaded, around)?;
    let store = Store::open();
    let transcript = match &chat.resume {
        Some(which) => Some(store.find(which.as_deref())?),
        None => None,
    };
    let outcome = on_runtime(async {
        let chosen = choose(chat, transcript.as_ref(), &loaded).await?;
        let transcript = begun(chat, transcript, &chosen);
        let around = Around { chat, cli, house: &house, loaded: &loaded };
        let session = Session::new(around, store, chosen, transcript)?;
        while_connected(&house, &loaded, Needs::All, async |connections| {
            connections.ready(is_watched(false)).await?;
            model::tell_unmatched(&chat.asked.tools, &house);
            session.run().await
        })
        .await
    });
    match outcome {
        Err(error) if error.is::<Interrupted>() => Ok(ExitCode::from(INTERRUPTED)),
        other => other,
    }
}

/// The model of `-m`, or else the one that a saved chat had, or else the usual one.
async fn choose(
    chat: &Chat,
    resumed: Option<&Transcript>,
    loaded: &Loaded,
) -> anyhow::Result<Chosen> {
    let wanted = chat.asked.model.as_deref();
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

/// The saved chat, or a new one; `--system` is obeyed in both.
fn begun(chat: &Chat, resumed: Option<Transcript>, chosen: &Chosen) -> Transcript {
    let Some(mut transcript) = resumed else {
        return Transcript::new(chosen.name.clone(), chat.asked.conversation());
    };
    if chat.asked.system.is_some() {
        let mut messages = chat.asked.conversation().messages().to_vec();
        let old = transcript.messages.messages();
        let first = old.iter().position(|message| !matches!(message, Message::System(_)));
        messages.extend_from_slice(&old[first.unwrap_or(old.len())..]);
        transcript.messages = Conversation::from(messages);
    }
    transcript
}
