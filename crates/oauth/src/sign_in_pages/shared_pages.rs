//! Pages that any gateway of a cluster serves: one opens a page, the browser may reach others.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use switchboard_toolcall::Principal;
use switchboard_toolcall::time::unix_seconds;
use switchboard_vault::Secret;
use tokio::{
    sync::watch,
    time::{Duration, Instant, timeout_at},
};

use super::{SignInPage, SignInTarget, is_same};
use crate::{credential_store::StoreFuture, error::Error, pending::StoredRequest};

/// How long it is known how a page ended: until every gateway has seen it.
const OUTCOME: Duration = Duration::from_secs(60);

/// The length of ids and states: 256 bits in Base64.
const RANDOM: usize = 43;

/// Keeps pages for all gateways of a cluster, as texts by name, each for a time.
pub trait SharedPages: fmt::Debug + Send + Sync {
    /// Stores a text, in place of one that is there.
    fn put<'a>(&'a self, name: &'a str, value: Secret, life: Duration) -> StoreFuture<'a, ()>;

    /// Returns a text; `None` if there is none.
    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>>;

    /// Returns a text as far as it is known here, without asking anybody.
    fn peek(&self, name: &str) -> Option<Secret>;

    /// Removes a text and returns it: of several who take it, one gets it.
    fn take<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>>;

    /// Returns what is notified of changes.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// Returns what a caller signs in to, by the name of the server or API; `None` if there is none here.
pub type TargetFinder =
    Arc<dyn Fn(&str, &Principal) -> Option<Arc<dyn SignInTarget>> + Send + Sync>;

/// Shares the pages of this gateway with the others of its cluster.
pub(super) struct PageSharing {
    pages: Arc<dyn SharedPages>,
    find: TargetFinder,
}

/// A page as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredPage {
    server: String,
    /// The key of the principal.
    caller: String,
    /// Until when it is good, in seconds since 1970.
    until: u64,
    /// The state of the browser's sign-in that began last.
    #[serde(default)]
    state: Option<Secret>,
    #[serde(default)]
    outcome: Option<Result<(), String>>,
}

/// A browser that was sent to the authorization server, as it is stored.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredStep {
    /// The page's id.
    pub(super) page: String,
    cookie: Secret,
    pub(super) request: StoredRequest,
}

impl fmt::Debug for PageSharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageSharing").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl PageSharing {
    pub(super) fn new(pages: Arc<dyn SharedPages>, find: TargetFinder) -> Self {
        Self { pages, find }
    }

    /// Lets the other gateways serve a page. If that fails, this gateway alone does.
    pub(super) async fn share(&self, page: &SignInPage) {
        self.put(page, None, None).await;
    }

    /// Lets the other gateways finish what a browser has begun here.
    pub(super) async fn share_step(&self, page: &SignInPage) {
        let step = page.browser().as_ref().and_then(|step| {
            let stored = StoredStep {
                page: page.id.clone(),
                cookie: step.cookie.clone(),
                request: StoredRequest::of(&step.request),
            };
            let state = step.request.state.clone();
            serde_json::to_string(&stored).ok().map(|text| (state, text))
        });
        let Some((state, text)) = step else { return };
        self.put(page, Some(state.expose()), None).await;
        noted(self.pages.put(&step_name(state.expose()), text.into(), page.life()).await);
    }

    /// Uses up what a browser has begun here. Returns false if it has been begun again, or ended, at another gateway.
    pub(super) async fn use_step(&self, page: &SignInPage, state: &str) -> bool {
        noted(self.pages.take(&step_name(state)).await.map(drop));
        let stored: Option<StoredPage> = read(self.pages.get(&page_name(&page.id)).await);
        stored.is_none_or(|stored| stored.is_waiting_for(state))
    }

    /// Tells the other gateways how a page ended.
    pub(super) async fn share_outcome(&self, page: &SignInPage, outcome: &Result<(), String>) {
        self.put(page, None, Some(outcome)).await;
    }

    /// Returns what the page with this id is for, and for how long it is good.
    pub(super) async fn find(&self, id: &str) -> Option<(Arc<dyn SignInTarget>, Duration)> {
        // Anybody may ask for a page.
        if id.len() != RANDOM {
            return None;
        }
        let stored: StoredPage = read(self.pages.get(&page_name(id)).await)?;
        if stored.outcome.is_some() {
            return None;
        }
        let principal = Principal::from_key(&stored.caller)?;
        let target = (self.find)(&stored.server, &principal)?;
        let life = stored.until.checked_sub(unix_seconds())?;
        Some((target, Duration::from_secs(life)))
    }

    /// Takes the step that a browser began at another gateway, if one of `cookies` is the one that the browser got. A request of
    /// another browser leaves it in place.
    pub(super) async fn take_step(&self, state: &str, cookies: &[&str]) -> Option<StoredStep> {
        if state.len() != RANDOM || cookies.is_empty() {
            return None;
        }
        let name = step_name(state);
        let step: StoredStep = read(self.pages.get(&name).await)?;
        if !cookies.iter().any(|cookie| is_same(cookie, step.cookie.expose())) {
            return None;
        }
        let page: StoredPage = read(self.pages.get(&page_name(&step.page)).await)?;
        if !page.is_waiting_for(state) {
            return None;
        }
        read(self.pages.take(&name).await)
    }

    /// Ends a page here when it has ended at another gateway.
    pub(super) fn follow(&self, page: &Arc<SignInPage>) {
        let (pages, page) = (self.pages.clone(), page.clone());
        let mut changes = pages.changes();
        tokio::spawn(async move {
            let name = page_name(&page.id);
            let mut outcome = page.outcome.subscribe();
            let here = async { _ = outcome.wait_for(Option::is_some).await };
            let elsewhere = async {
                loop {
                    changes.mark_unchanged();
                    let stored: Option<StoredPage> = read(Ok(pages.peek(&name)));
                    if let Some(outcome) = stored.and_then(|stored| stored.outcome) {
                        return outcome;
                    }
                    if changes.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            };
            tokio::select! {
                () = here => {}
                outcome = timeout_at(page.until, elsewhere) => {
                    if let Ok(outcome) = outcome {
                        if outcome.is_ok() {
                            page.target.on_sign_in().await;
                        }
                        page.end(outcome);
                    }
                }
            }
        });
    }

    async fn put(
        &self,
        page: &SignInPage,
        state: Option<&str>,
        outcome: Option<&Result<(), String>>,
    ) {
        let Some(caller) = page.principal().key() else { return };
        let life = if outcome.is_some() { OUTCOME } else { page.life() };
        let stored = StoredPage {
            server: page.server_name().to_owned(),
            caller,
            until: unix_seconds().saturating_add(life.as_secs()),
            state: state.map(Secret::from),
            outcome: outcome.cloned(),
        };
        let Ok(text) = serde_json::to_string(&stored) else { return };
        noted(self.pages.put(&page_name(&page.id), text.into(), life).await);
    }
}

impl StoredPage {
    /// Whether the sign-in with this state is the one that began last, and has not ended.
    fn is_waiting_for(&self, state: &str) -> bool {
        self.outcome.is_none() && self.state.as_ref().map(Secret::expose) == Some(state)
    }
}

impl SignInPage {
    /// How long it is still good.
    fn life(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

fn page_name(id: &str) -> String {
    format!("page {id}")
}

fn step_name(state: &str) -> String {
    format!("state {state}")
}

fn read<T: DeserializeOwned>(found: Result<Option<Secret>, Error>) -> Option<T> {
    let found = found.inspect_err(not_shared).ok()??;
    serde_json::from_str(found.expose()).ok()
}

fn noted(done: Result<(), Error>) {
    _ = done.inspect_err(not_shared);
}

fn not_shared(error: &Error) {
    tracing::warn!(%error, "a page for a sign-in is served by one gateway alone");
}
