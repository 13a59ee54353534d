//! The files of the page, as they are in `crates/gateway/console`.

use std::sync::OnceLock;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;
use sha2::{Digest, Sha256};

/// A file of the page.
pub(super) struct ConsoleFile {
    name: &'static str,
    pub(super) content: &'static [u8],
    tag: OnceLock<HeaderValue>,
}

macro_rules! file {
    ($name:literal) => {
        ConsoleFile {
            name: $name,
            content: include_bytes!(concat!("../../console/", $name)),
            tag: OnceLock::new(),
        }
    };
}

/// The page itself.
pub(super) static INDEX: ConsoleFile = file!("index.html");

/// The files that the page loads.
static FILES: [ConsoleFile; 64] = [
    file!("api.js"),
    file!("approval.js"),
    file!("approvals.js"),
    file!("banner.js"),
    file!("chart.js"),
    file!("chevron.svg"),
    file!("connect.js"),
    file!("console.css"),
    file!("dom.js"),
    file!("feed.js"),
    file!("format.js"),
    file!("held.js"),
    file!("icon.svg"),
    file!("icons.js"),
    file!("json.js"),
    file!("keys.js"),
    file!("main.js"),
    file!("markdown.js"),
    file!("overview.js"),
    file!("pages.css"),
    file!("policy.js"),
    file!("questions.js"),
    file!("reading.js"),
    file!("router.js"),
    file!("search.svg"),
    file!("session.js"),
    file!("theme.js"),
    file!("title.js"),
    file!("tree.js"),
    file!("widgets.js"),
    file!("chat/answer.js"),
    file!("chat/chat.js"),
    file!("chat/conversation.js"),
    file!("chat/list.js"),
    file!("chat/options.js"),
    file!("live/artifacts.js"),
    file!("live/bar.js"),
    file!("live/calls.js"),
    file!("live/compare.js"),
    file!("live/detail.js"),
    file!("live/difference.js"),
    file!("live/export.js"),
    file!("live/filter.js"),
    file!("live/live.js"),
    file!("live/rows.js"),
    file!("live/turns.js"),
    file!("live/views.js"),
    file!("live/waterfall.js"),
    file!("live/zoom.js"),
    file!("runs/run.js"),
    file!("runs/runs.js"),
    file!("servers/add.js"),
    file!("servers/beside.js"),
    file!("servers/facts.js"),
    file!("servers/servers.js"),
    file!("servers/waiting.js"),
    file!("tools/controls.js"),
    file!("tools/cost.js"),
    file!("tools/form.js"),
    file!("tools/lines.js"),
    file!("tools/run.js"),
    file!("tools/schema.js"),
    file!("tools/tool.js"),
    file!("tools/tools.js"),
];

/// Returns the file with this name.
pub(super) fn find(name: &str) -> Option<&'static ConsoleFile> {
    FILES.iter().find(|file| file.name == name)
}

impl ConsoleFile {
    /// Returns its content type.
    pub(super) fn media_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("json" | "webmanifest") => "application/json",
            _ => "application/octet-stream",
        }
    }

    /// Returns the ETag, which changes with the content.
    pub(super) fn tag(&self) -> &HeaderValue {
        self.tag.get_or_init(|| {
            let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(self.content)[..12]);
            HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static(""))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// Returns the files of a folder, by the names under which browsers request them.
    fn sent(folder: &Path, above: &str) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        entries
            .flat_map(|entry| {
                let name = format!("{above}{}", entry.file_name().to_string_lossy());
                match entry.file_type().unwrap().is_dir() {
                    true => sent(&entry.path(), &format!("{name}/")),
                    false => vec![name],
                }
            })
            .filter(|name| [".js", ".css", ".svg"].iter().any(|end| name.ends_with(end)))
            .collect()
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let mut there = sent(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/console")), "");
        let mut served: Vec<_> = FILES.iter().map(|file| file.name.to_owned()).collect();
        there.sort();
        served.sort();
        assert_eq!(there, served);
    }

    #[test]
    fn the_page_is_light_and_has_nothing_inline() {
        let weight: usize = FILES.iter().chain([&INDEX]).map(|file| file.content.len()).sum();
        assert!(weight < 340_000, "{weight}");
        let page = str::from_utf8(INDEX.content).unwrap();
        for (at, _) in page.match_indices("<script") {
            assert!(page[at..].contains("></script>") && page[at..].contains("src=\"/console/"));
        }
        for wrong in ["<style", " style=", " onclick=", "http://", "https://", "javascript:"] {
            assert!(!page.contains(wrong), "{wrong}");
        }
    }
}
