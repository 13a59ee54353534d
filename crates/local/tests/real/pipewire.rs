//! PipeWire with WirePlumber, through `wpctl`.

use switchboard_local::builtins::control_speaker_volume::MixerChoice;

use crate::{session::Session, volume};

const SINK: &str = "@DEFAULT_AUDIO_SINK@";

/// A PipeWire with a sink that plays into nothing.
async fn start() -> Session {
    let mut session = Session::new();
    let bus = session.env()["DBUS_SESSION_BUS_ADDRESS"].clone();
    session.start("dbus-daemon", &["--session", "--nofork", &format!("--address={bus}")]);
    session.wait_for_file("bus").await;
    session.start("pipewire", &[""; 0]);
    session.wait_for_file("pipewire-0").await;
    session.start("wireplumber", &[""; 0]);
    let sink = "{ factory.name=support.null-audio-sink node.name=silent media.class=Audio/Sink \
                object.linger=true audio.position=[FL FR] }";
    session.run("pw-cli", &["create-node", "adapter", sink]).await;
    session.wait_for("wpctl", &["get-volume", SINK]).await;
    session
}

/// Volume and mute as `wpctl` tells them.
async fn ask(session: &Session) -> (u32, bool) {
    let text = session.run("wpctl", &["get-volume", SINK]).await.unwrap();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    (digits.parse().unwrap(), text.contains("MUTED"))
}

#[tokio::test]
async fn every_action_on_pipewire() {
    // LT-3
    let mut session = start().await;
    for choice in [MixerChoice::PipeWire, MixerChoice::Auto] {
        let tool = volume::tool(choice, &session);
        volume::every_action(&tool, "pipewire", async || ask(&session).await).await;
    }
    let tool = volume::tool(MixerChoice::PipeWire, &session);
    session.end().await;
    volume::is_unavailable(&tool, "pipewire: wpctl failed: Could not connect to PipeWire").await;
}
