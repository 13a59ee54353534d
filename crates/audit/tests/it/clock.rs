//! A clock that jumps changes times, but not the order.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_audit::{Filter, Reader};
use switchboard_runtime::CallStart;
use switchboard_toolcall::CallId;

use crate::support::{Folder, open};

#[tokio::test]
async fn records_keep_their_order_when_the_clock_goes_back() {
    let folder = Folder::new();
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    let times = [now, now - hour, now - 2 * hour, now + hour, now];
    let mut ids = Vec::new();
    for (number, started) in times.into_iter().enumerate() {
        let store = folder.store();
        let id = CallId::generate_at(started);
        let tool = format!("tool-{number}").into();
        let (arguments, caller, client, conversation) = ("{}".to_owned(), None, None, None);
        let (profile, shown_as) = (None, None);
        let start = CallStart {
            id,
            tool,
            shown_as,
            profile,
            arguments,
            caller,
            client,
            conversation,
            run: None,
            turn_sha256: None,
            started,
        };
        open(&store, &Arc::new(start)).await;
        ids.insert(0, id);
    }
    let records = folder.records();
    assert_eq!(records.iter().map(|record| record.id).collect::<Vec<_>>(), ids);
    let mut reader = Reader::open(folder.path()).unwrap();
    // What people ask for is what the clock said.
    let since = |since| Filter { since: Some(since), ..Filter::default() };
    assert_eq!(reader.list(&since(now - hour / 2)).unwrap().len(), 3);
    assert_eq!(reader.list(&since(now + hour / 2)).unwrap().len(), 1);
    assert_eq!(folder.damage(), []);
}
