//! A gateway that uses some groups: the others cost it nothing, and are not shown.

use std::time::Duration;

use serde_json::json;
use switchboard_testkit::Fake;
use switchboard_toolcall::ErrorKind;
use switchboard_workers::{Config, memory::MemoryTraffic};
use tokio::time::{Instant, sleep};

use crate::{
    TestServers,
    shared::nodes::{Gateway, RunningWorker},
};

/// How long the traffic is counted: several readings of all keys, and one of all entries.
const COUNTED: Duration = Duration::from_secs(400);

fn config(groups: &[&str]) -> Config {
    Config { groups: groups.iter().map(ToString::to_string).collect(), ..Config::default() }
}

impl TestServers {
    /// A gateway that uses these groups, and knows `gpu__echo`; and what it receives.
    async fn gateway_of(&self, groups: &[&str]) -> (Gateway, MemoryTraffic) {
        let traffic = MemoryTraffic::default();
        let cluster = self.servers.connect_measured(&config(groups), &traffic).unwrap();
        let gateway = Gateway::start(cluster).await;
        gateway.lists("gpu__echo").await;
        (gateway, traffic)
    }

    /// Workers of other groups, each with tools of its own.
    async fn foreign(&self, number: usize) -> Vec<RunningWorker> {
        let mut workers = Vec::new();
        for number in 0..number {
            let tool = Fake::echoes(&format!("tool{number}"));
            workers.push(self.worker(&format!("other-{}", number % 10), 4, vec![tool]).await);
        }
        workers
    }
}

/// Returns the messages and bytes that a gateway of these groups receives while others come, are there and leave.
async fn received(groups: &[&str], foreign: usize) -> (u64, u64) {
    let servers = TestServers::start();
    let own = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let some = servers.foreign(foreign / 2).await;
    let (gateway, traffic) = servers.gateway_of(groups).await;
    let more = servers.foreign(foreign / 2).await;
    sleep(COUNTED).await;
    for worker in more {
        worker.stop().await;
    }
    for worker in some {
        worker.ended.abort();
    }
    sleep(COUNTED).await;
    assert!(gateway.names().contains(&"gpu__echo".to_owned()));
    own.stop().await;
    (traffic.messages(), traffic.bytes())
}

#[tokio::test(start_paused = true)]
async fn what_a_gateway_receives_does_not_grow_with_the_groups_of_others() {
    let (messages, bytes) = received(&["gpu"], 0).await;
    let (with_foreign, bytes_with_foreign) = received(&["gpu"], 200).await;
    // A few counts more, since starting and stopping the others takes time too.
    assert!(with_foreign < messages + 30, "{messages} {with_foreign}");
    assert!(bytes_with_foreign < bytes + 3_000, "{bytes} {bytes_with_foreign}");
    // Without the setting it grows.
    let (_, all) = received(&[], 200).await;
    assert!(all > 10 * bytes, "{bytes} {all}");
}

#[tokio::test(start_paused = true)]
async fn only_the_groups_that_are_used_are_shown_and_followed() {
    for groups in [&["gpu", "cpu"][..], &["gpu*", "c*"][..]] {
        let servers = TestServers::start();
        let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
        let others = servers.foreign(20).await;
        let (gateway, _) = servers.gateway_of(groups).await;
        let late = servers.worker("cpu", 4, vec![Fake::echoes("late")]).await;
        gateway.lists("cpu__late").await;
        sleep(Duration::from_secs(60)).await;
        let mut names = gateway.names();
        names.sort();
        assert_eq!(names, ["cpu__late", "gpu__echo"]);
        let unknown = gateway.call("other-1__tool1", json!({})).await;
        assert_eq!(unknown.error_kind(), Some(ErrorKind::UnknownServer));
        // One of its own dies while others come and go.
        for other in others {
            other.stop().await;
        }
        worker.ended.abort();
        let died = Instant::now();
        gateway.forgets("gpu__echo").await;
        assert!(died.elapsed() <= Duration::from_secs(5), "{:?}", died.elapsed());
        assert_eq!(gateway.call("cpu__late", json!({})).await.text(), "{}");
        late.stop().await;
    }
}
