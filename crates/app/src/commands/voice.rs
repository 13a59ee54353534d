//! `switchboard voice`: speech in, a model's turn with tools, speech out (SPEC HM-2).

mod screen;

use std::{process::ExitCode, sync::Arc};

use anyhow::Context;
use switchboard_mcp_wire::server_request::NoRequestHandler;
use switchboard_voice::{
    Assistant, AudioSource, BackgroundTranscriber, Config, ToolServers, TranscriberParts, WakeMode,
    Watcher, recogniser, synthesiser, wake_word,
};

use self::screen::VoiceScreen;
use crate::{
    approvals,
    assembly::{App, Deps},
    cli::{Cli, VoiceArgs},
    commands::serve::told_to_stop,
    connections::{Needs, while_connected},
    model, overrides,
    runtime::on_runtime,
    settings::LoadedConfig,
};

pub(super) fn run(voice: &VoiceArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let config = voice.over(loaded.settings.voice.clone());
    // Without a terminal, a person elsewhere decides about calls that need approval.
    let approver = approvals::here_or_elsewhere(&loaded);
    // Servers cannot ask people by voice, so we do not declare the capability.
    let answers = Arc::new(NoRequestHandler);
    let deps = Deps { approver, answers, ..Deps::for_terminal(&loaded) };
    let app = App::build_with(&loaded, deps)?;
    on_runtime(async {
        let stop = told_to_stop()?;
        while_connected(&app, &loaded, Needs::AsSet, async |connections| {
            let watcher = VoiceScreen::new(voice.json, cli.color).watcher();
            let servers = connections.voice_servers();
            let parts = parts(voice, &loaded, &app, config, watcher, servers).await?;
            let ended = BackgroundTranscriber::new(parts)?.run(&stop).await;
            let is_well = ended.failures == 0 || stop.is_cancelled();
            Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        })
        .await
    })
}

/// Builds the parts of the voice gateway. Connects to nothing yet.
async fn parts(
    voice: &VoiceArgs,
    loaded: &LoadedConfig,
    app: &App,
    config: Config,
    watcher: Watcher,
    servers: Arc<dyn ToolServers>,
) -> anyhow::Result<TranscriberParts> {
    let recogniser = config.stt.as_ref().map(recogniser).transpose().context("stt")?;
    let synthesiser = config.tts.as_ref().map(synthesiser).transpose().context("tts")?;
    let wake_word = match &config.wake {
        Some(WakeMode::Word(word)) => Some(wake_word(word).context("wake")?),
        _ => None,
    };
    let chosen = model::choose(config.model.as_deref(), loaded).await?;
    let agent = chosen.agent(&voice.model_args, app, loaded, loaded.settings.agent.clone())?;
    if recogniser.is_none() && config.source() != AudioSource::None {
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
