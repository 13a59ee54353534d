//! Whether the services of `[voice]` can be reached.

use switchboard_voice::reach::{ServiceStatus, reach};

use super::{CheckStatus, DoctorCheck};
use crate::settings::Loaded;

/// Whether the config names any.
pub(super) fn is_set(loaded: &Loaded) -> bool {
    let config = &loaded.settings.voice;
    config.mqtt.is_some() || config.stt.is_some() || config.tts.is_some() || config.wake.is_some()
}

/// Looks at all of them at once.
pub(super) async fn probe(loaded: &Loaded) -> Vec<DoctorCheck> {
    reach(&loaded.settings.voice).await.into_iter().map(check).collect()
}

fn check(ServiceStatus { setting, name, problem }: ServiceStatus) -> DoctorCheck {
    let (status, message) = match problem {
        None => (CheckStatus::Ok, format!("{name}, reachable")),
        Some(problem) if name.is_empty() => (CheckStatus::Broken, problem),
        Some(problem) => (CheckStatus::Broken, format!("{name} cannot be reached: {problem}")),
    };
    DoctorCheck::new(format!("voice {setting}"), status, message)
}
