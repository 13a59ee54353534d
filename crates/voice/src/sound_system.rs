//! Sound through programs that machines with sound usually have, so that building needs no headers.

use std::{process::Stdio, time::Duration};

use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, Command},
    time::timeout,
};

use crate::{Error, Format};

/// How long the sound server may take to respond.
const PATIENCE: Duration = Duration::from_secs(2);
/// How much of a program's error output is shown.
const COMPLAINT: u64 = 2_000;

/// The programs that play and record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SoundSystem {
    /// PulseAudio, or PipeWire in its place.
    Pulse,
    /// The sound cards themselves.
    Alsa,
}

impl SoundSystem {
    /// Detects the sound system: a sound server that responds, or else the sound cards.
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
                // PulseAudio can remove the speaker's sound from the microphone's.
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

/// Returns the last line of a program's error output; the lines before are its libraries' steps.
pub(crate) async fn complaint(stderr: Option<ChildStderr>) -> String {
    let mut text = Vec::new();
    if let Some(stderr) = stderr {
        // Unreadable output is left out.
        let _ = timeout(PATIENCE, stderr.take(COMPLAINT).read_to_end(&mut text)).await;
    }
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.unwrap_or("it ended").to_owned()
}
