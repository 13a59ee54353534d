//! Pages of a fleet: one gateway opens a page, the browser reaches others.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use switchboard_oauth::{
    Authorizer, CredentialKey, Secret, SharedPages, SignInPages, SignInTarget, StoreFuture,
};
use switchboard_toolcall::{BoxFuture, Principal};
use tokio::sync::watch;
use url::Url;

use crate::{SignInSetup, redirect_of};

/// What the gateways share, in memory.
#[derive(Debug, Default)]
struct FakePages {
    texts: Mutex<HashMap<String, Secret>>,
    changes: watch::Sender<u64>,
}

impl FakePages {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, Secret>) -> T) -> T {
        let done = work(&mut self.texts.lock().unwrap());
        self.changes.send_modify(|count| *count += 1);
        done
    }
}

impl SharedPages for FakePages {
    fn put<'a>(&'a self, name: &'a str, value: Secret, _: Duration) -> StoreFuture<'a, ()> {
        self.with(|texts| texts.insert(name.to_owned(), value));
        Box::pin(async { Ok(()) })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>> {
        Box::pin(async move { Ok(self.peek(name)) })
    }

    fn peek(&self, name: &str) -> Option<Secret> {
        self.texts.lock().unwrap().get(name).cloned()
    }

    fn take<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>> {
        Box::pin(async move { Ok(self.with(|texts| texts.remove(name))) })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

/// A caller's sign-in at one gateway.
struct Target {
    principal: Principal,
    authorizer: Authorizer,
    sign_ins: AtomicUsize,
}

impl SignInTarget for Target {
    fn title(&self) -> &str {
        "docs"
    }

    fn principal(&self) -> &Principal {
        &self.principal
    }

    fn own_authorizer(&self) -> Option<&Authorizer> {
        Some(&self.authorizer)
    }

    fn on_sign_in(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.authorizer.reload().await;
            self.sign_ins.fetch_add(1, Ordering::AcqRel);
        })
    }
}

/// One gateway of the fleet.
struct FleetGateway {
    pages: SignInPages,
    target: Arc<Target>,
}

impl FleetGateway {
    fn new(world: &SignInSetup, shared: &Arc<FakePages>) -> Self {
        let principal = Principal::Token { name: "ada".into(), id: "1".into() };
        let key =
            CredentialKey::of_caller("docs", &world.server.resource(), principal.key().unwrap());
        let authorizer = Authorizer::new(
            world.http.clone(),
            world.store.clone(),
            key.unwrap(),
            Arc::new(|_| Box::new(())),
        );
        let target = Arc::new(Target { principal, authorizer, sign_ins: AtomicUsize::new(0) });
        let pages = SignInPages::default();
        pages.serve_at("https://tools.example");
        let own = target.clone();
        let find = move |name: &str, caller: &Principal| {
            let is_own = name == "docs" && *caller == own.principal;
            is_own.then(|| own.clone() as Arc<dyn SignInTarget>)
        };
        pages.share(shared.clone(), Arc::new(find));
        Self { pages, target }
    }

    /// Sends a browser that has reached this gateway to the authorization server. Returns its cookie, and where it is sent
    /// back to: the state, and the whole query.
    async fn begin(&self, id: &str) -> (String, String, String) {
        let page = self.pages.find(id).await.unwrap();
        let redirect = self.pages.begin(&page).await.unwrap();
        let back = Url::parse(&redirect_of(redirect.url.as_str()).await).unwrap();
        assert_eq!(back.path(), "/sign-in/callback");
        let state = back.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
        (redirect.cookie.expose().to_owned(), state, back.query().unwrap().to_owned())
    }
}

// AU-2, AU-3: whichever gateways the browser reaches, the call that waits goes on, and each address is good once.
#[tokio::test]
async fn a_browser_may_reach_any_gateway() {
    let (world, shared) = (SignInSetup::new().await, Arc::new(FakePages::default()));
    let gateways = [0; 3].map(|_| FleetGateway::new(&world, &shared));
    let [one, two, three] = &gateways;
    let target: Arc<dyn SignInTarget> = one.target.clone();
    let page = one.pages.open(&target).await.unwrap();
    let (cookie, state, query) = two.begin(page.id()).await;
    assert!(three.pages.finish(&state, &["another"], &query).await.is_err(), "another browser");
    let finished = three.pages.finish(&state, &["another", &cookie], &query).await;
    assert_eq!(finished.unwrap(), "docs");
    page.signed_in().await.unwrap();
    assert!(one.target.authorizer.token().await.is_some());
    assert_eq!(one.target.sign_ins.load(Ordering::Acquire), 1);
    for gateway in &gateways {
        assert!(gateway.pages.finish(&state, &[&cookie], &query).await.is_err(), "used up");
    }
    assert!(FleetGateway::new(&world, &shared).pages.find(page.id()).await.is_none());
    assert!(two.pages.find("nobody's").await.is_none());
}

// AU-3: only the browser that began last can finish, wherever it began.
#[tokio::test]
async fn an_earlier_browser_cannot_finish() {
    let (world, shared) = (SignInSetup::new().await, Arc::new(FakePages::default()));
    let [one, two, three] = [0; 3].map(|_| FleetGateway::new(&world, &shared));
    let target: Arc<dyn SignInTarget> = one.target.clone();
    let page = one.pages.open(&target).await.unwrap();
    let (cookie, state, query) = one.begin(page.id()).await;
    let (latest, latest_state, latest_query) = two.begin(page.id()).await;
    assert!(three.pages.finish(&state, &[&cookie], &query).await.is_err());
    let shown = one.pages.find(page.id()).await.unwrap();
    assert!(one.pages.finish(&state, &[&cookie], &query).await.is_err());
    assert_eq!(shown.address(), page.address());
    assert!(three.pages.finish(&latest_state, &[&latest], &latest_query).await.is_ok());
    page.signed_in().await.unwrap();
}

// AU-3: the person refuses at the authorization server, and the browser comes back to another gateway.
#[tokio::test]
async fn a_refusal_reaches_the_call_that_waits() {
    let (world, shared) = (SignInSetup::new().await, Arc::new(FakePages::default()));
    let [one, two] = [0; 2].map(|_| FleetGateway::new(&world, &shared));
    let target: Arc<dyn SignInTarget> = one.target.clone();
    let page = one.pages.open(&target).await.unwrap();
    let (cookie, state, _) = one.begin(page.id()).await;
    let refusal = format!("error=access_denied&state={state}&iss={}", world.server.origin());
    assert!(two.pages.finish(&state, &[&cookie], &refusal).await.is_err());
    let error = page.signed_in().await.unwrap_err();
    assert!(error.contains("access_denied"), "{error}");
    assert!(one.target.authorizer.token().await.is_none());
}
