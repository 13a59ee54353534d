//! The same with tools of a worker behind a real NATS: the process of the run dies, the worker lives on.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Stdio},
};

use switchboard_testkit::Nats;

use super::{Entrance, Random, TOOLS, chain, judge, kills, notify_tool, survive};
use crate::{ask::scripted, test_folder::TestFolder};

/// A worker of the group `post`, which is killed in the end.
struct PostWorker {
    child: Child,
    _place: TestFolder,
}

impl PostWorker {
    /// Starts it, and waits until it takes calls.
    fn start(place: &TestFolder, cluster: &str) -> Self {
        let written = place.path().join("written");
        let config = format!("{cluster}[worker]\ngroup = \"post\"\n{}", notify_tool(&written));
        let place = TestFolder::with_config(&config);
        let log = std::fs::File::create(place.path().join("log")).unwrap();
        let mut command = place.command(&["worker", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("post"), "{line:?}");
        Self { child, _place: place }
    }
}

impl Drop for PostWorker {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

// RN-2
#[test]
fn a_chain_through_a_worker_survives_every_kill() {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let parts = parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`");
    let kept = tempfile::tempdir().unwrap();
    let nats = Nats::start(&parts, kept.path());
    let (seed, mut random) = Random::seeded();
    eprintln!("SWITCHBOARD_RUN_SEED={seed}");
    let mut places = 0;
    for entrance in [Entrance::Ask, Entrance::Chat, Entrance::Client] {
        for is_queued in [false, true] {
            let (mut killed, mut unknown, mut runs) = (0, 0, 0);
            while killed < kills(12).div_ceil(6) {
                places += 1;
                let cluster =
                    format!("[cluster]\nnats = \"{}\"\nprefix = \"p{places}\"\n", nats.url());
                let place = scripted(TOOLS, chain()).file("said", "Pay\n");
                let place = place.file("chained", "").file("written", "");
                let queued = if is_queued { "[cluster.jobs]\nkeyed = [\"post__*\"]\n" } else { "" };
                let place = place.file("switchboard.toml", format!("{cluster}{queued}{TOOLS}"));
                let _worker = PostWorker::start(&place, &cluster);
                let (messages, kills) = survive(&place, entrance, &mut random, 400);
                let unknown_here = judge(&place, &messages);
                if is_queued {
                    // A call that the worker has is waited for, so only the other tools' can be unknown.
                    let text = serde_json::to_string(&messages).unwrap();
                    assert!(
                        !text.contains("Tool 'post__notify' may or may not have run"),
                        "{text}"
                    );
                }
                unknown += unknown_here;
                killed += kills;
                runs += 1;
            }
            eprintln!(
                "{entrance:?}, queued {is_queued}: {runs} runs, {killed} kills, {unknown} unknown"
            );
        }
    }
}
