//! Fake tools, a fake provider of models, an Ollama without a model, cassettes of real ones, a real small one, one that obeys and a look at the log, for tests;
//! definitions of real tools; a real broker, speech services, sounds made of numbers and simulated devices; a scan for secrets in what was written.

pub mod mosquitto;
pub mod cassette;
pub mod zwave_devices;
mod http;
pub mod logs;
pub mod nats;
pub mod ollama;
pub mod obedient_model;
pub mod parts;
pub mod process;
pub mod provider;
pub mod recorded_tools;
pub mod rules;
pub mod secrets;
pub mod small_model;
pub mod sounds;
pub mod speech;
pub mod tools;
pub mod wait;

pub use cassette::{Cassette, Scrub};
pub use logs::Logs;
pub use mosquitto::{Mosquitto, MqttListener};
pub use nats::Nats;
pub use obedient_model::{ModelRequest, ObedientModel};
pub use ollama::{OllamaModel, OllamaServer};
pub use process::Process;
pub use provider::{CapturedRequest, ProviderServer, Reply};
pub use recorded_tools::{RECORDED_TOOLS, recorded_tools};
pub use small_model::SmallModel;
pub use speech::SpeechService;
pub use tools::{Fake, Witness};
pub use wait::{until, until_some};
pub use zwave_devices::{SimulatedDevices, SimulatedZwave, ZwaveTransport};
