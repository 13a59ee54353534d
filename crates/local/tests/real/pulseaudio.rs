//! PulseAudio, through `pactl`.

use switchboard_local::builtins::control_speaker_volume::MixerChoice;

use crate::{session::Session, volume};

const SINK: &str = "@DEFAULT_SINK@";

/// A PulseAudio with a sink that plays into nothing.
pub(crate) async fn start() -> Session {
    let mut session = Session::new();
    let socket = session.path("pulse.socket");
    let protocol =
        format!("module-native-protocol-unix socket={} auth-anonymous=1", socket.display());
    let args = [
        "-n",
        "--daemonize=no",
        "--exit-idle-time=-1",
        "--use-pid-file=no",
        "--disable-shm=true",
        "--log-level=error",
        "--load=module-null-sink",
        &format!("--load={protocol}"),
    ];
    session.start("pulseaudio", &args);
    session.wait_for("pactl", &["get-sink-volume", SINK]).await;
    session
}

/// Volume and mute as `pactl` tells them.
pub(crate) async fn ask(session: &Session) -> (u32, bool) {
    let volume = session.run("pactl", &["get-sink-volume", SINK]).await.unwrap();
    let percent = volume.split_whitespace().find_map(|word| word.strip_suffix('%'));
    let muted = session.run("pactl", &["get-sink-mute", SINK]).await.unwrap();
    (percent.unwrap().parse().unwrap(), muted.contains("yes"))
}

#[tokio::test]
async fn every_action_on_pulseaudio() {
    // LT-3
    let mut session = start().await;
    // wpctl may be installed, but has no server here: it is passed over.
    for choice in [MixerChoice::PulseAudio, MixerChoice::Auto] {
        let tool = volume::tool(choice, &session);
        volume::every_action(&tool, "pulseaudio", async || ask(&session).await).await;
    }
    let only = volume::tool(MixerChoice::PulseAudio, &session);
    let any = volume::tool(MixerChoice::Auto, &session);
    session.end().await;
    volume::is_unavailable(&only, "pulseaudio: pactl failed: ").await;
    volume::is_unavailable(&any, "pulseaudio: pactl failed: ").await;
}
