//! ALSA, through `amixer`, with a PulseAudio in the place of a sound card.

use switchboard_local::builtins::control_speaker_volume::MixerChoice;

use crate::{pulseaudio, volume};

#[tokio::test]
async fn every_action_on_alsa() {
    // LT-3
    let mut session = pulseaudio::start().await;
    let settings = session.path("asound.conf");
    let text = "</usr/share/alsa/alsa.conf>\nctl.!default { type pulse }\n";
    std::fs::write(&settings, text).unwrap();
    session.set("ALSA_CONFIG_PATH", settings.to_str().unwrap());
    let tool = volume::tool(MixerChoice::Alsa, &session);
    let ask = async || pulseaudio::ask(&session).await;
    volume::every_action(&tool, "alsa", ask).await;
    session.end().await;
    volume::is_unavailable(&tool, "alsa: amixer failed: ").await;
}
