//! Whether the services of `[voice]` can be reached.

use switchboard_voice::reach::{ServiceStatus, reach};

use super::{CheckStatus, DoctorCheck};
use crate::settings::LoadedConfig;

/// Checks all of them at once.
pub(super) async fn probe(loaded: &LoadedConfig) -> Vec<DoctorCheck> {
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
