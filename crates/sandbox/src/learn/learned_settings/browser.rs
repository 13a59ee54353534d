//! What a program needs that listens on Unix sockets of its own, as browsers do.

use std::path::Path;

use super::{LearnedProfile, ObservedNeeds, StraceRun, TraceEvent};
use crate::{config::SandboxHome, preset::SandboxPreset};

/// How many processes and threads a browser has room for: Chromium takes some 150 for a page.
const BROWSER_TASKS: u64 = 512;

/// Gives a program an empty home, if it only keeps settings and caches in the user's and runs nothing from there; what it did with these
/// is left out then.
pub(super) fn choose_home(
    strace_run: &StraceRun,
    events: &mut Vec<TraceEvent>,
    profile: &mut LearnedProfile,
) {
    let Some(home) = strace_run.places.home() else { return };
    let is_hidden = |path: &Path| {
        let of_home = strace_run.places.cwd().join(path);
        let first = of_home.strip_prefix(home).ok().and_then(|rest| rest.components().next());
        first.is_some_and(|first| first.as_os_str().to_string_lossy().starts_with('.'))
    };
    use TraceEvent::{Change, Read, Run, Write};
    let is_run = |event: &TraceEvent| matches!(event, Run(path) if is_hidden(path));
    let is_kept = |event: &TraceEvent| matches!(event, Read(path) | Write(path) | Change(path) if is_hidden(path));
    let is_changed =
        |event: &TraceEvent| matches!(event, Write(path) | Change(path) if is_hidden(path));
    if events.iter().any(is_changed) && !events.iter().any(is_run) {
        events.retain(|event| !is_kept(event));
        profile.allow.home = SandboxHome::Temporary;
        let note =
            "an empty home at each start, because it keeps settings and caches in the user's";
        profile.guessed.push(note.to_owned());
    }
}

/// Chooses the preset for programs that listen on Unix sockets of their own, as browsers do: these reach no sockets of others.
pub(super) fn add_preset(needs: &mut ObservedNeeds, profile: &mut LearnedProfile) {
    profile.allow.preset.push(SandboxPreset::Browser);
    profile.processes = Some(BROWSER_TASKS);
    let reason =
        "the preset \"browser\" and more processes, because it listens on Unix sockets of its own";
    profile.guessed.push(reason.to_owned());
    for socket in std::mem::take(&mut needs.unix) {
        if !needs.own_sockets.contains(&socket) {
            let socket = socket.display();
            profile
                .never
                .push(format!("{socket}: with \"browser\" it sees no Unix sockets but its own"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::learn::learned_settings::tests::learned;

    // SB-2
    #[test]
    fn who_listens_on_unix_sockets_is_taken_for_a_browser() {
        use TraceEvent::{Change, OwnSocket, Read, Run, Unix};
        let events = |home: &Path| {
            let own = PathBuf::from("/usr/own");
            let settings = [".config/chromium/x", ".pki/db", "shots/page.png"];
            let changes = settings.map(|name| Change(home.join(name)));
            let others = vec![
                OwnSocket(Some(own.clone())),
                Unix(own),
                Unix("/run/bus".into()),
                Read(home.join(".cache/x")),
            ];
            [others, changes.into()].concat()
        };
        let files = ["shots/page.png", ".cache/ms-playwright/chrome"];
        let browser = learned(&files, events);
        let left_out = [".config", ".pki", ".cache", "unix:"];
        assert!(!left_out.iter().any(|part| browser.contains(part)), "{browser}");
        // A browser that is in the home is not in an empty one.
        let of_home = learned(&files, |home| {
            let run = Run(home.join(".cache/ms-playwright/chrome"));
            [events(home), vec![run]].concat()
        });
        assert!(of_home.contains("write = [\"~/.pki") && !of_home.contains("home ="), "{of_home}");
        for part in [
            "write = [\"~/shots/**\"], ",
            "preset = [\"browser\"], home = \"temporary\" }",
            "sandbox_limits = { processes = 512 }",
            "# guessed: the preset \"browser\"",
            "# never allowed: /run/bus: ",
        ] {
            assert!(browser.contains(part), "{part}\n{browser}");
        }
    }
}
