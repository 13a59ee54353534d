//! One-time addresses at which callers sign in to servers and APIs with `auth = "user"` (SPEC AU-3).
//!
//! An address is bound to the caller whose call needs it. Whoever serves the page checks that the visitor is that caller, and
//! only then [`begin`](SignInPage::begin)s: the browser gets a cookie, and only the browser with that cookie can finish. So
//! neither our address nor that of the authorization server is of use to anybody else, and nobody can be lured into signing in
//! for another.

mod shared_pages;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use switchboard_toolcall::{BoxFuture, Principal};
use switchboard_vault::Secret;
use tokio::{
    sync::watch,
    time::{Duration, Instant, timeout_at},
};
use url::Url;

use super::{authorizer::Authorizer, error::Error, pending::OutgoingAuthorizationRequest};
use shared_pages::PageSharing;
pub use shared_pages::{SharedPages, TargetFinder};

/// How long an address is good.
const LIFE: Duration = Duration::from_secs(600);
/// How many there may be; the oldest gives way.
const MOST: usize = 1000;
/// The path below which the pages are.
const PATH: &str = "/sign-in/";
/// Where authorization servers send the browser back to, below [`PATH`].
const CALLBACK: &str = "callback";

/// The addresses at which callers can sign in now.
#[derive(Debug, Default)]
pub struct SignInPages {
    /// The URL of the gateway that serves the pages; unset if there is none.
    gateway: OnceLock<Url>,
    open: Mutex<Vec<Arc<SignInPage>>>,
    /// The other gateways that serve the pages; unset if there are none.
    sharing: OnceLock<PageSharing>,
}

/// What one caller signs in to: that caller's instance of a server, or an API.
pub trait SignInTarget: Send + Sync {
    /// Returns the server's or the API's name in the config.
    fn title(&self) -> &str;

    /// Returns who signs in.
    fn principal(&self) -> &Principal;

    /// Returns what uses the sign-in; `None` if nobody signs in to it so.
    fn own_authorizer(&self) -> Option<&Authorizer>;

    /// Uses the sign-in that is stored now.
    fn on_sign_in(&self) -> BoxFuture<'_, ()>;
}

/// An address at which one caller can sign in to one server, once.
pub struct SignInPage {
    id: String,
    address: Url,
    redirect: Url,
    target: Arc<dyn SignInTarget>,
    until: Instant,
    browser: Mutex<Option<BrowserStep>>,
    outcome: watch::Sender<Option<Result<(), String>>>,
}

/// A browser that was sent to the authorization server.
struct BrowserStep {
    request: OutgoingAuthorizationRequest,
    /// What the browser's cookie must be.
    cookie: Secret,
}

/// Where to send a browser.
pub struct BrowserRedirect {
    /// The authorization server's page.
    pub url: Url,
    /// The cookie that the browser must bring back.
    pub cookie: Secret,
}

impl SignInPages {
    /// Sets the URL of the gateway that serves the pages. The first one counts.
    pub fn serve_at(&self, gateway: &str) {
        match Url::parse(gateway) {
            Ok(url) => _ = self.gateway.set(url),
            Err(error) => tracing::warn!(%error, gateway, "callers cannot sign in here"),
        }
    }

    /// Opens the address at which the caller signs in to the target; returns the one that it has, if there is one. `None` if
    /// no gateway serves pages here.
    pub async fn open(&self, target: &Arc<dyn SignInTarget>) -> Option<Arc<SignInPage>> {
        let page = {
            let mut open = self.lock();
            if let Some(page) = open.iter().find(|page| page.is_of(target)) {
                return Some(page.clone());
            }
            self.add(&mut open, random()?, target.clone(), LIFE)?
        };
        if let Some(sharing) = self.sharing.get() {
            sharing.share(&page).await;
        }
        Some(page)
    }

    /// Returns the page with this id, unless it was used or has expired. It may be another gateway's.
    pub async fn find(&self, id: &str) -> Option<Arc<SignInPage>> {
        if let Some(page) = self.lock().iter().find(|page| page.id == id) {
            return Some(page.clone());
        }
        let (target, life) = self.sharing.get()?.find(id).await?;
        let mut open = self.lock();
        // Two browsers may come at once.
        match open.iter().find(|page| page.id == id) {
            Some(page) => Some(page.clone()),
            None => self.add(&mut open, id.to_owned(), target, life),
        }
    }

    /// Adds a page to those that are open here.
    fn add(
        &self,
        open: &mut Vec<Arc<SignInPage>>,
        id: String,
        target: Arc<dyn SignInTarget>,
        life: Duration,
    ) -> Option<Arc<SignInPage>> {
        let gateway = self.gateway.get()?;
        if open.len() >= MOST {
            open.remove(0).end(Err("too many callers sign in at once".to_owned()));
        }
        let page = Arc::new(SignInPage {
            address: gateway.join(&format!("{PATH}{id}")).ok()?,
            redirect: gateway.join(&format!("{PATH}{CALLBACK}")).ok()?,
            id,
            target,
            until: Instant::now() + life,
            browser: Mutex::default(),
            outcome: watch::Sender::default(),
        });
        open.push(page.clone());
        if let Some(sharing) = self.sharing.get() {
            sharing.follow(&page);
        }
        Some(page)
    }

    /// Serves the pages together with other gateways. `find` returns what a caller signs in to, by its name. The first call
    /// counts.
    pub fn share(&self, pages: Arc<dyn SharedPages>, find: TargetFinder) {
        _ = self.sharing.set(PageSharing::new(pages, find));
    }

    /// Prepares the sign-in of a page and says where to send the browser. The visitor must be the page's
    /// [`principal`](SignInPage::principal). An earlier browser can no longer finish.
    ///
    /// # Errors
    /// The server or its authorization server say nothing that can be used.
    pub async fn begin(&self, page: &Arc<SignInPage>) -> Result<BrowserRedirect, Error> {
        let redirect = page.begin().await?;
        if let Some(sharing) = self.sharing.get() {
            sharing.share_step(page).await;
        }
        Ok(redirect)
    }

    /// Finishes a sign-in: `address` is where the authorization server sent the browser, `state` a parameter of it and
    /// `cookies` what the browser brought. Whatever comes of it, the address is used up. Returns the server's name.
    ///
    /// # Errors
    /// No sign-in has this state, the browser is another one, or the authorization server or the person refused.
    pub async fn finish(
        &self,
        state: &str,
        cookies: &[&str],
        query: &str,
    ) -> Result<String, Error> {
        let refused = |text: &str| Error::Response(text.to_owned());
        let unknown = || {
            refused("no sign-in of this browser waits for it; begin again where you were asked to")
        };
        let (page, request) = match self.take(state, cookies) {
            Some((page, step)) => {
                if let Some(sharing) = self.sharing.get()
                    && !sharing.use_step(&page, state).await
                {
                    return Err(unknown());
                }
                (page, step.request)
            }
            None => self.take_shared(state, cookies).await.ok_or_else(unknown)?,
        };
        let mut address = page.redirect.clone();
        address.set_query(Some(query));
        let finished = request.finish_with(address.as_str()).await;
        let outcome = finished.as_ref().map(drop).map_err(ToString::to_string);
        if let Some(sharing) = self.sharing.get() {
            sharing.share_outcome(&page, &outcome).await;
        }
        if finished.is_ok() {
            page.target.on_sign_in().await;
        }
        page.end(outcome);
        finished.map(|_| page.server_name().to_owned())
    }

    /// Takes the sign-in that was begun at another gateway, likewise.
    async fn take_shared(
        &self,
        state: &str,
        cookies: &[&str],
    ) -> Option<(Arc<SignInPage>, OutgoingAuthorizationRequest)> {
        let step = self.sharing.get()?.take_step(state, cookies).await?;
        let page = self.find(&step.page).await?;
        let request = step.request.restore(page.target.own_authorizer()?).await?;
        self.lock().retain(|open| open.id != page.id);
        Some((page, request))
    }

    /// Takes the sign-in with this state, if the browser is the one that began it. Another browser does not use it up.
    fn take(&self, state: &str, cookies: &[&str]) -> Option<(Arc<SignInPage>, BrowserStep)> {
        let mut open = self.lock();
        let at = open.iter().position(|page| {
            let step = page.browser();
            let step = step.as_ref().filter(|step| is_same(step.request.state(), state));
            step.is_some_and(|step| {
                cookies.iter().any(|cookie| is_same(cookie, step.cookie.expose()))
            })
        })?;
        let page = open.remove(at);
        let step = page.browser().take()?;
        Some((page, step))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<SignInPage>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        open.retain(|page| {
            if page.until <= now {
                page.end(Err("nobody signed in in time".to_owned()));
            }
            !page.has_ended()
        });
        open
    }
}

impl SignInPage {
    /// Whether it is for this target.
    pub fn is_of(&self, target: &Arc<dyn SignInTarget>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.target), Arc::as_ptr(target))
    }

    /// The address for the caller.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Its id, which nobody can guess.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who is to sign in: nobody else may.
    pub fn principal(&self) -> &Principal {
        self.target.principal()
    }

    /// The server or API to sign in to.
    pub fn server_name(&self) -> &str {
        self.target.title()
    }

    async fn begin(&self) -> Result<BrowserRedirect, Error> {
        let authorizer = self.target.own_authorizer();
        let unusable = || Error::Metadata("the server is not signed in to".to_owned());
        let sign_in = authorizer.ok_or_else(unusable)?.prepare().await?;
        let request = sign_in.begin_at(self.redirect.clone()).await?;
        let url = request.url().clone();
        let random = random().map(Secret::from);
        let cookie =
            random.ok_or_else(|| Error::Metadata("the system has no random numbers".to_owned()))?;
        *self.browser() = Some(BrowserStep { request, cookie: cookie.clone() });
        Ok(BrowserRedirect { url, cookie })
    }

    /// Waits until the caller has signed in.
    ///
    /// # Errors
    /// Why not: the caller refused, or took too long.
    pub async fn signed_in(&self) -> Result<(), String> {
        let mut outcome = self.outcome.subscribe();
        let ended = timeout_at(self.until, outcome.wait_for(Option::is_some)).await;
        match ended {
            Ok(Ok(outcome)) => outcome.clone().unwrap_or(Ok(())),
            _ => Err("nobody signed in in time".to_owned()),
        }
    }

    /// Ends it, unless it has ended.
    fn end(&self, outcome: Result<(), String>) {
        self.outcome.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert(outcome);
            is_first
        });
    }

    fn has_ended(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    fn browser(&self) -> MutexGuard<'_, Option<BrowserStep>> {
        self.browser.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for SignInPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignInPage").field("server", &self.server_name()).finish_non_exhaustive()
    }
}

/// Returns 256 random bits in Base64; `None` if the system has none.
fn random() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares in a time that says nothing of where two texts differ.
fn is_same(one: &str, other: &str) -> bool {
    let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest(one).as_ref() == digest(other).as_ref()
}
