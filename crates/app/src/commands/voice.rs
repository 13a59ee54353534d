//! `switchboard voice`: speech in, a model's turn with tools, speech out (SPEC HM-2).

mod screen;

use std::{process::ExitCode, sync::Arc};

use anyhow::Context;
use switchboard_mcp_client::NoRequestHandler;
use switchboard_voice::{
    Assistant, BackgroundTranscriber, Config, ToolServers, TranscriberParts, Watcher,
    config::{Call, Origin},
    recogniser, synthesiser, wake_word,
};

use self::screen::Screen;
use crate::{
    approvals,
    cli::{Cli, Voice},
    commands::serve::told_to_stop,
    connections::{Needs, on_runtime, while_connected},
    house::{self, House},
    model, rehearsal,
    settings::Loaded,
};

pub(super) fn run(voice: &Voice, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = rehearsal::load(cli)?;
    let config = voice.over(loaded.settings.voice.clone());
    // Whoever is asked about a call may sit elsewhere.
    let approver = approvals::here_or_elsewhere(&loaded);
    // Nobody can be asked by voice, so servers are not told that somebody can.
    let answers = Arc::new(NoRequestHandler);
    let around = house::Around { approver, answers, ..house::Around::usual(&loaded) };
    let house = House::build_in(&loaded, around)?;
    on_runtime(async {
        let stop = told_to_stop()?;
        while_connected(&house, &loaded, Needs::AsSet, async |connections| {
            let watcher = Screen::new(voice.json, cli.color).watcher();
            let servers = connections.voice_servers();
            let parts = parts(voice, &loaded, &house, config, watcher, servers).await?;
            let ended = BackgroundTranscriber::new(parts)?.run(&stop).await;
            let is_well = ended.failures == 0 || stop.is_cancelled();
            Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        })
        .await
    })
}

/// What the gateway is made of. Nothing is connected yet.
async fn parts(
    voice: &Voice,
    loaded: &Loaded,
    house: &House,
    config: Config,
    watcher: Watcher,
    servers: Arc<dyn ToolServers>,
) -> anyhow::Result<TranscriberParts> {
    let recogniser = config.stt.as_ref().map(recogniser).transpose().context("stt")?;
    let synthesiser = config.tts.as_ref().map(synthesiser).transpose().context("tts")?;
    let wake_word = match &config.wake {
        Some(Call::Word(word)) => Some(wake_word(word).context("wake")?),
        _ => None,
    };
    let chosen = model::choose(config.model.as_deref(), loaded).await?;
    let agent = chosen.agent(&voice.asked, house, loaded.settings.agent.clone())?;
    if recogniser.is_none() && config.source() != Origin::None {
        tracing::warn!(
            "there is no speech recognition, so nothing that is said is understood; --stt names one"
        );
    }
    let assistant = Assistant::new(agent, &chosen.model, &config, servers);
    let (source, output) = (None, None);
    Ok(TranscriberParts {
        config,
        recogniser,
        wake_word,
        assistant,
        synthesiser,
        source,
        output,
        watcher,
    })
}
