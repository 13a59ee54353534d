use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use tempfile::TempDir;

use super::*;

const HOUR: i64 = 60 * 60;

/// Registrations under a clock that stands still unless it is set.
struct Fixture {
    registrations: Registrations,
    /// In seconds since 1970.
    now: Arc<AtomicI64>,
    _folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_800_000_000));
        let mut registrations = Registrations::beside(&folder.path().join("tokens.json"));
        let clock = now.clone();
        registrations.now =
            Box::new(move || Timestamp::from_second(clock.load(Ordering::Relaxed)).unwrap());
        Self { registrations, now, _folder: folder }
    }

    fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    async fn keep(&self, id: &str, is_used: bool) {
        self.registrations.keep(client(id), is_used, None).await.unwrap();
    }

    async fn knows(&self, id: &str) -> bool {
        self.registrations.find(id, None).await.is_ok()
    }

    fn ids(&self) -> Vec<String> {
        self.registrations.read().unwrap().into_iter().map(|one| one.client.id).collect()
    }

    /// Fills the file: each was registered a second after the one before.
    fn fill(&self, is_used: impl Fn(usize) -> bool) {
        let first = self.now.load(Ordering::Relaxed) + 23 * HOUR;
        let until = |number: usize| Timestamp::from_second(first + number as i64).unwrap();
        let registration = |number: usize| Registration {
            client: client(&format!("client-{number}")),
            until: until(number),
            is_used: is_used(number),
        };
        let all: Vec<_> = (0..MOST).map(registration).collect();
        fs::write(&self.registrations.file, serde_json::to_vec(&all).unwrap()).unwrap();
    }
}

fn client(id: &str) -> Client {
    let redirect_uris = vec!["https://client.example/callback".to_owned()];
    Client { id: id.to_owned(), name: "Client".to_owned(), redirect_uris }
}

// AU-4
#[tokio::test]
async fn a_client_is_forgotten_after_a_day_unless_a_person_lets_it_in() {
    let fixture = Fixture::new();
    fixture.keep("new", false).await;
    fixture.keep("used", false).await;
    fixture.pass(24 * HOUR - 1);
    assert!(fixture.knows("new").await && fixture.knows("used").await);
    fixture.keep("used", true).await;
    fixture.pass(1);
    assert!(!fixture.knows("new").await && fixture.knows("used").await);
    // What is forgotten does not stay in the file.
    fixture.keep("another", false).await;
    assert_eq!(fixture.ids(), ["used", "another"]);
    fixture.pass(180 * 24 * HOUR - 2);
    assert!(fixture.knows("used").await);
    fixture.pass(1);
    assert!(!fixture.knows("used").await);
}

// AU-4: so that nobody can fill the disk, or push out who was let in.
#[tokio::test]
async fn of_a_thousand_clients_the_oldest_that_nobody_let_in_is_forgotten() {
    let fixture = Fixture::new();
    fixture.fill(|number| number < 3 || number == 4);
    for id in ["first", "second"] {
        fixture.keep(id, false).await;
    }
    let ids = fixture.ids();
    assert_eq!(ids.len(), MOST);
    for (id, is_known) in [("client-0", true), ("client-3", false), ("client-4", true)] {
        assert_eq!(fixture.knows(id).await, is_known, "{id}");
    }
    assert_eq!(ids[3..5], ["client-4", "client-6"], "3 and 5 made room");
    assert!(fixture.knows("first").await && fixture.knows("second").await);
}

// AU-4
#[tokio::test]
async fn if_all_were_let_in_the_one_that_ends_first_is_forgotten() {
    let fixture = Fixture::new();
    fixture.fill(|_| true);
    fixture.keep("new", false).await;
    assert_eq!(fixture.ids().len(), MOST);
    assert!(!fixture.knows("client-0").await && fixture.knows("client-1").await);
    assert!(fixture.knows("new").await);
}
