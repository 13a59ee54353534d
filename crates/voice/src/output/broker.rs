//! Publishes each answer as a WAV over MQTT, to be played elsewhere.

use switchboard_toolcall::BoxFuture;
use tokio::time::sleep;

use super::{Output, PlaybackError, whole};
use crate::{Error, SpeechStream, mqtt::Mqtt, wav};

/// The topic `speech` of a broker.
pub(crate) struct MqttOutput(pub(crate) Mqtt);

impl Output for MqttOutput {
    fn play<'a>(&'a self, spoken: SpeechStream) -> BoxFuture<'a, Result<(), PlaybackError>> {
        Box::pin(async {
            let Some(clip) = whole(spoken).await? else { return Ok(()) };
            if !self.0.speak(wav::written(&clip)?) {
                return Err(Error::device("sound over MQTT", "the broker is not there").into());
            }
            // It is being played elsewhere now, and stops when the state changes.
            sleep(clip.duration()).await;
            Ok(())
        })
    }
}
