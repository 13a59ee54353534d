//! Whether the recordings that are kept are still what the model says.

use std::path::PathBuf;

use switchboard_models::Turn;
use switchboard_testkit::{Cassette, Scrub, SmallModel};

use crate::light::{FOLDER, KEPT, converse};

/// Set, the recordings are made again instead of compared.
const RECORD: &str = "SWITCHBOARD_RECORD";

// ML-1, ML-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kept_recordings_are_what_the_model_says() {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let parts = parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`");
    let (model, anew) = (SmallModel::start(&parts), std::env::var_os(RECORD).is_some());
    for (provider, name) in KEPT {
        let kept = PathBuf::from(FOLDER).join(name);
        let other = std::env::temp_dir().join(format!("switchboard-{}-{name}", std::process::id()));
        let file = if anew { kept.clone() } else { other.clone() };
        let recording = Cassette::record(model.url(), &file, Scrub::default()).await.unwrap();
        let now = converse(&recording.url(), provider).await;
        recording.settled().await;
        let replay = Cassette::replay(&kept, Scrub::default()).await.unwrap();
        let then = converse(&replay.url(), provider).await;
        _ = std::fs::remove_file(other);
        // Ids are drawn by lot, and another machine may round its prose otherwise; the call stays.
        let call = |turns: &[Turn]| {
            let call = &turns[0].message.tool_calls[0];
            (call.name.clone(), call.args.clone(), turns[0].stop.clone(), turns.len())
        };
        assert_eq!(call(&now), call(&then));
    }
}
