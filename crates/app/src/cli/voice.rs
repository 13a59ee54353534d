//! Arguments of `switchboard voice`.

use std::path::PathBuf;

use clap::Args;
use switchboard_voice::{AudioSource, Config, Destination, SpeechConfig};

use super::ModelArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard voice --mqtt mqtt://127.0.0.1 --source none   typed requests only
  switchboard voice --stt tcp://127.0.0.1:10300 --tts tcp://127.0.0.1:10200
  switchboard voice --wake tcp://127.0.0.1:10400 --stt … --tts …
  switchboard voice --source wav:question.wav --output wav:answer.wav --stt …
  arecord -t raw -f S16_LE -r 16000 | switchboard voice --source stdin --stt …

Over MQTT it says what was said (voice/transcription), answered (voice/ai-response), what it does (voice/state) \
and what does not work (voice/error). It answers {\"text\":\"…\"} on voice/request, and listens at once after a \
message on voice/listen. What is not given comes from [voice] in the config.

Exit status: 0 told to stop, or all of a file was answered; 1 an answer of a file failed; 2 wrong usage or \
config.")]
pub(crate) struct VoiceArgs {
    /// The MQTT broker [default: none]
    #[arg(long, value_name = "URL")]
    pub(crate) mqtt: Option<String>,

    /// CA certificate (PEM) that the broker's certificate must chain to [default: those of this machine]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// What our topics begin with [default: voice]
    #[arg(long, value_name = "TOPIC")]
    pub(crate) prefix: Option<String>,

    /// Where sound comes from: mic, mic:DEVICE, wav:FILE, mqtt, stdin or none. Raw sound is 16 kHz mono, 16 bits
    /// [default: mic if there is --stt, else none]
    #[arg(long)]
    pub(crate) source: Option<AudioSource>,

    /// What turns speech into text: tcp://HOST:PORT (Wyoming) or http://HOST:PORT/v1 (as OpenAI does)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) stt: Option<String>,

    /// What turns text into speech, in the same way
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) tts: Option<String>,

    /// What hears a wake word: tcp://HOST:PORT (Wyoming); `push` listens only after a message on voice/listen
    #[arg(long, value_name = "ADDRESS|push")]
    pub(crate) wake: Option<String>,

    /// Where answers are heard: speaker, speaker:DEVICE, wav:FILE, mqtt or none [default: speaker, or mqtt with
    /// --source mqtt]
    #[arg(long)]
    pub(crate) output: Option<Destination>,

    #[command(flatten)]
    pub(crate) model_args: ModelArgs,

    /// Print a line of JSON for each transcription, answer and error, with its kind in `type`
    #[arg(long)]
    pub(crate) json: bool,
}

impl VoiceArgs {
    /// The settings, with what was said here in their place.
    pub(crate) fn over(&self, mut config: Config) -> Config {
        config.mqtt = self.mqtt.clone().or(config.mqtt);
        config.ca = self.ca.clone().or(config.ca);
        config.prefix = self.prefix.clone().unwrap_or(config.prefix);
        config.model = self.model_args.model.clone().or(config.model);
        config.source = self.source.clone().or(config.source);
        config.output = self.output.clone().or(config.output);
        config.prompt = self.model_args.system.clone().or(config.prompt);
        // A new address for a configured service keeps the service's other settings.
        let moved = |address: &Option<String>, known: Option<SpeechConfig>| match address {
            Some(url) => Some(SpeechConfig {
                url: url.clone(),
                ..known.unwrap_or_else(|| SpeechConfig::new(""))
            }),
            None => known,
        };
        config.stt = moved(&self.stt, config.stt);
        config.tts = moved(&self.tts, config.tts);
        config.wake = self.wake.clone().map(|url| SpeechConfig::new(url).into()).or(config.wake);
        config
    }
}
