//! Whether the services of `[voice]` can be reached.

use switchboard_voice::reach::{ServiceStatus, reach};

use super::{Check, Status};
use crate::settings::Loaded;

/// Whether the config names any.
pub(super) fn is_set(loaded: &Loaded) -> bool {
    let config = &loaded.settings.voice;
    config.mqtt.is_some() || config.stt.is_some() || config.tts.is_some() || config.wake.is_some()
}

/// Looks at all of them at once.
pub(super) async fn probe(loaded: &Loaded) -> Vec<Check> {
    reach(&loaded.settings.voice).await.into_iter().map(check).collect()
}

fn check(ServiceStatus { setting, name, problem }: ServiceStatus) -> Check {
    let (status, message) = match problem {
        None => (Status::Ok, format!("{name}, reachable")),
        Some(problem) if name.is_empty() => (Status::Broken, problem),
        Some(problem) => (Status::Broken, format!("{name} cannot be reached: {problem}")),
    };
    Check::new(format!("voice {setting}"), status, message)
}
