//! The sound of this machine through the programs that every machine with sound has, so that nobody needs headers to build us.

use std::{process::Stdio, time::Duration};

use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, Command},
    time::timeout,
};

use crate::{Error, Format};

/// How long the sound server may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// How much of what a program complains of is told.
const COMPLAINT: u64 = 2_000;

/// Who plays and records here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SoundSystem {
    /// PulseAudio, or PipeWire in its place.
    Pulse,
    /// The sound cards themselves.
    Alsa,
}

impl SoundSystem {
    /// Finds out who does: a sound server that answers, or else the sound cards.
    pub(crate) async fn find() -> Self {
        let mut server = Command::new("pactl");
        server.arg("info").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        server.kill_on_drop(true);
        match timeout(PATIENCE, server.status()).await {
            Ok(Ok(status)) if status.success() => Self::Pulse,
            _ => Self::Alsa,
        }
    }

    /// Starts a recorder that writes [`Format::SPEECH`] to its stdout.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn record(self, device: Option<&str>) -> Result<Child, Error> {
        let program = match self {
            Self::Pulse => "parec",
            Self::Alsa => "arecord",
        };
        let mut command = self.command(program, Format::SPEECH, device);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        start(command, program, "the microphone")
    }

    /// Starts a player that reads samples of this format from its stdin.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn play(self, format: Format, device: Option<&str>) -> Result<Child, Error> {
        let program = match self {
            Self::Pulse => "paplay",
            Self::Alsa => "aplay",
        };
        let mut command = self.command(program, format, device);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        start(command, program, "the speaker")
    }

    fn command(self, program: &str, format: Format, device: Option<&str>) -> Command {
        let (rate, channels) = (format.rate.to_string(), format.channels.to_string());
        let mut command = Command::new(program);
        match self {
            Self::Pulse => {
                command.args(["--raw", "--format=s16le", "--latency-msec=60"]);
                // Where PulseAudio can, it takes what the speaker says out of what the microphone hears.
                command.arg("--property=filter.want=echo-cancel");
                command.args(["--rate", &rate, "--channels", &channels]);
                command.args(device.map(|device| format!("--device={device}")));
            }
            Self::Alsa => {
                command.args(["-q", "-t", "raw", "-f", "S16_LE", "-r", &rate, "-c", &channels]);
                command.args(device.map(|device| format!("--device={device}")));
            }
        }
        command
    }
}

fn start(mut command: Command, program: &str, part: &str) -> Result<Child, Error> {
    command.stderr(Stdio::piped()).kill_on_drop(true).spawn().map_err(|error| {
        let advice = "install alsa-utils (arecord, aplay) or pulseaudio-utils (parec, paplay)";
        Error::device(part, format!("`{program}` could not be started ({error}); {advice}"))
    })
}

/// What a program that has ended complained of last; what comes before are the steps of its libraries.
pub(crate) async fn complaint(stderr: Option<ChildStderr>) -> String {
    let mut text = Vec::new();
    if let Some(stderr) = stderr {
        // What cannot be read is not told.
        let _ = timeout(PATIENCE, stderr.take(COMPLAINT).read_to_end(&mut text)).await;
    }
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.unwrap_or("it ended").to_owned()
}
