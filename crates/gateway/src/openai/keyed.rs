//! Requests that clients may repeat: with an `Idempotency-Key`, the same request of the same client gets the answer of the same
//! run, which goes on if the client hangs up, and after a restart (SPEC RN-2).

mod recorded;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode};
use indexmap::IndexMap;
use serde_json::{Value, json};
use switchboard_access::Caller;
use switchboard_agent::{
    AgentEvent, AgentEvents, RequestClaim, RequestKey, Resumable, RunError, RunStore, UnfinishedRun,
};
use switchboard_toolcall::{CallId, Principal};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    chat::{Chat, ChatOutcome, CompletionHead},
    failure::ChatFailure,
    stream,
    wire::ChatRequest,
};
use crate::{gateway::Parts, json_body::Json, profile_view};

/// How many answers are kept in memory; those of earlier runs are read from their records.
const MOST: usize = 256;

/// How often we look whether another process has ended a run.
const OFTEN: Duration = Duration::from_millis(200);

/// How long servers may take to connect before an interrupted run goes on.
const STARTUP: Duration = Duration::from_secs(10);

/// The longest key, in bytes.
const LONGEST_KEY: usize = 255;

/// What became of a run.
type KeyedResult = Result<Arc<KeyedAnswer>, ChatFailure>;

/// The answer of a run.
pub(super) struct KeyedAnswer {
    pub(super) outcome: ChatOutcome,
    pub(super) warnings: Vec<String>,
}

/// The runs of requests that may be repeated, under way or ended, the oldest first.
#[derive(Default)]
pub(super) struct KeyedRuns {
    /// Held while a run is looked up or begun, so that only one request begins it.
    beginning: tokio::sync::Mutex<()>,
    results: Mutex<IndexMap<CallId, watch::Receiver<Option<KeyedResult>>>>,
}

/// A request with its key.
pub(super) struct KeyedRequest {
    parts: Arc<Parts>,
    caller: Caller,
    request: ChatRequest,
    /// The request as it is recorded.
    body: Value,
    key: RequestKey,
    runs: RunStore,
}

/// How a request gets its answer.
enum Begun {
    /// Its run was begun or resumed for it, or is under way.
    Run(CallId, watch::Receiver<Option<KeyedResult>>),
    /// Its run has ended.
    Ended(CallId, KeyedResult),
}

/// What is there of a run.
enum FoundRun {
    /// The run is under way, or has ended.
    Begun(Begun),
    /// The run was interrupted.
    Unfinished(Box<UnfinishedRun>),
    /// The process stopped between the claim of the key and the begin of the run.
    Nothing,
    /// The run failed before it did anything, so that it can be tried again.
    Failed,
    /// Another process runs it.
    Elsewhere,
}

impl KeyedRequest {
    /// Creates the request of `caller` with this key. Returns the request if runs are not recorded: it cannot be repeated then.
    ///
    /// # Errors
    /// The key cannot be used.
    pub(super) fn new(
        parts: &Arc<Parts>,
        caller: &Caller,
        request: ChatRequest,
        body: &[u8],
        key: &str,
    ) -> Result<Result<Self, ChatRequest>, ChatFailure> {
        if key.is_empty() || key.len() > LONGEST_KEY {
            let text = format!("the header Idempotency-Key has 1 to {LONGEST_KEY} characters");
            return Err(ChatFailure::new(StatusCode::BAD_REQUEST, text));
        }
        let Some(runs) = parts.models.runs() else { return Ok(Err(request)) };
        let json: Value = serde_json::from_slice(body).unwrap_or_default();
        let client = client_of(caller);
        let key = RequestKey::new(&client, key, &json);
        let body = json!({"client": client, "body": json});
        let (parts, caller) = (parts.clone(), caller.clone());
        Ok(Ok(Self { parts, caller, request, body, key, runs }))
    }

    /// Returns the answer of the request's run: begins the run, waits for it, resumes it, or reads its record. `prepare` is
    /// applied to a chat that is begun for this request.
    pub(super) async fn answer(
        self,
        prepare: impl FnOnce(&mut Chat),
    ) -> Result<Response, ChatFailure> {
        let (streams, model) =
            (self.request.stream.unwrap_or_default(), self.request.model.clone());
        let options = self.request.stream_options.as_ref();
        let include_usage = options.and_then(|options| options.include_usage).unwrap_or_default();
        let (run, result) = match self.begin(prepare).await? {
            Begun::Ended(run, result) => (run, Some(result)),
            Begun::Run(run, receiver) => match streams {
                true => return Ok(stream::later(model, run, include_usage, receiver)),
                false => (run, outcome(receiver).await),
            },
        };
        let answer = result.unwrap_or_else(|| Err(interrupted()))?;
        let head = CompletionHead::of_run(model, run);
        let (outcome, warnings) = (answer.outcome.clone(), answer.warnings.clone());
        let mut response = match streams {
            true => stream::at_once(&head, outcome, include_usage),
            false => Json(head.whole(outcome, warnings)).into_response(),
        };
        response.headers_mut().insert("x-switchboard-run", header_of(run));
        Ok(response)
    }

    async fn begin(self, prepare: impl FnOnce(&mut Chat)) -> Result<Begun, ChatFailure> {
        let keyed = self.parts.models.keyed.clone();
        loop {
            let beginning = keyed.beginning.lock().await;
            let (run, chat) = match self.runs.known(&self.key).map_err(unreadable)? {
                Some(RequestClaim::Conflict) => return Err(conflict()),
                Some(RequestClaim::Known(run) | RequestClaim::New(run)) => match self.find(run)? {
                    FoundRun::Begun(begun) => return Ok(begun),
                    FoundRun::Unfinished(unfinished) => {
                        wait_for_tools(&self.parts).await;
                        let (parts, request) = (self.parts.clone(), &self.request);
                        (run, Chat::resuming(parts, &self.caller, request, *unfinished).await?)
                    }
                    FoundRun::Nothing => (run, self.chat().await?),
                    FoundRun::Failed => {
                        let chat = self.chat().await?;
                        (self.runs.renew(&self.key).map_err(unreadable)?, chat)
                    }
                    FoundRun::Elsewhere => {
                        drop(beginning);
                        sleep(OFTEN).await;
                        continue;
                    }
                },
                None => {
                    let chat = self.chat().await?;
                    match self.runs.claim(&self.key).map_err(unreadable)? {
                        RequestClaim::New(run) => (run, chat),
                        // Another process was first.
                        _ => continue,
                    }
                }
            };
            let mut chat = chat.keyed(run, self.body.clone());
            prepare(&mut chat);
            return Ok(Begun::Run(run, keyed.start(run, chat)));
        }
    }

    /// Looks for the run that the key stands for.
    fn find(&self, run: CallId) -> Result<FoundRun, ChatFailure> {
        let receiver = self.parts.models.keyed.lock().get(&run).cloned();
        if let Some(receiver) = receiver {
            let has_failed =
                matches!(&*receiver.borrow(), Some(Err(failure)) if !failure.has_acted);
            return Ok(match has_failed {
                true => FoundRun::Failed,
                false => FoundRun::Begun(Begun::Run(run, receiver)),
            });
        }
        Ok(match self.runs.take(run) {
            Ok(Resumable::Ended(detail)) => {
                let result = recorded::result(&detail);
                match result.is_err() && detail.summary.calls == 0 {
                    true => FoundRun::Failed,
                    false => FoundRun::Begun(Begun::Ended(run, result)),
                }
            }
            Ok(Resumable::Unfinished(unfinished)) => FoundRun::Unfinished(unfinished),
            Err(RunError::NotFound(_)) => FoundRun::Nothing,
            Err(RunError::Running(_)) => FoundRun::Elsewhere,
            Err(error) => return Err(unreadable(error)),
        })
    }

    async fn chat(&self) -> Result<Chat, ChatFailure> {
        Chat::new(self.parts.clone(), &self.caller, &self.request).await
    }
}

impl KeyedRuns {
    /// Runs a chat in its own task, which does not end if the client hangs up.
    fn start(&self, run: CallId, chat: Chat) -> watch::Receiver<Option<KeyedResult>> {
        let (sender, receiver) = watch::channel(None);
        let mut results = self.lock();
        if results.len() >= MOST {
            let is_over = |result: &watch::Receiver<Option<KeyedResult>>| result.borrow().is_some();
            let oldest = results.iter().find(|(_, result)| is_over(result)).map(|(run, _)| *run);
            oldest.map(|oldest| results.shift_remove(&oldest));
        }
        results.insert(run, receiver.clone());
        drop(results);
        tokio::spawn(async move {
            let warnings = Arc::<Mutex<Vec<String>>>::default();
            let heard = warnings.clone();
            let events: AgentEvents = Arc::new(move |happened| {
                if let AgentEvent::Warning(text) = happened {
                    heard.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                }
            });
            let result = chat.run(&events).await;
            let warnings = warnings.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let result = result.map(|outcome| Arc::new(KeyedAnswer { outcome, warnings }));
            sender.send_replace(Some(result));
        });
        receiver
    }

    fn lock(&self) -> MutexGuard<'_, IndexMap<CallId, watch::Receiver<Option<KeyedResult>>>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a run has ended. Returns `None` if it was interrupted.
pub(super) async fn outcome(
    mut receiver: watch::Receiver<Option<KeyedResult>>,
) -> Option<KeyedResult> {
    receiver.wait_for(Option::is_some).await.ok().and_then(|result| result.clone())
}

/// Goes on with the runs that were interrupted when the gateway stopped, for clients that may ask again.
pub(crate) async fn resume_all(parts: Arc<Parts>) {
    let Some(runs) = parts.models.runs() else { return };
    let unanswered = runs.unanswered().unwrap_or_else(|error| {
        tracing::warn!(%error, "interrupted runs cannot be looked for");
        Vec::new()
    });
    if unanswered.is_empty() {
        return;
    }
    wait_for_tools(&parts).await;
    for (run, recorded) in unanswered {
        match resume(&parts, &runs, run, &recorded).await {
            Ok(true) => tracing::info!(%run, "an interrupted run goes on"),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%run, %error, "an interrupted run waits until its client asks again");
            }
        }
    }
}

/// Waits until the tools of servers, APIs and workers are there: a call of a tool that is not known cannot be made again.
async fn wait_for_tools(parts: &Parts) {
    let servers = async {
        if let Some(servers) = &parts.servers {
            servers.wait_until_ready_within(STARTUP).await;
        }
    };
    let apis = async {
        if let Some(apis) = &parts.apis {
            _ = timeout(STARTUP, apis.wait_until_ready()).await;
        }
    };
    let workers = async {
        if let Err(error) = parts.executor.tools().discovered().await {
            tracing::warn!(%error, "interrupted runs go on without tools of workers");
        }
    };
    tokio::join!(servers, apis, workers);
}

/// Goes on with one run. Returns `false` if somebody else does.
async fn resume(
    parts: &Arc<Parts>,
    runs: &RunStore,
    run: CallId,
    recorded: &Value,
) -> Result<bool, ChatFailure> {
    let unknown = || ChatFailure::new(StatusCode::UNAUTHORIZED, "its client is not known here");
    let client = recorded["client"].as_str().and_then(|client| caller_of(parts, client));
    let caller = client.ok_or_else(unknown)?;
    let request = super::convert::read(recorded["body"].to_string().as_bytes())?;
    let keyed = parts.models.keyed.clone();
    let _beginning = keyed.beginning.lock().await;
    if keyed.lock().contains_key(&run) {
        return Ok(false);
    }
    let Ok(Resumable::Unfinished(unfinished)) = runs.take(run) else { return Ok(false) };
    let profile = unfinished.start().profile.as_deref();
    let caller = profile_view::enter(parts, caller, profile)
        .map_err(|error| ChatFailure::not_found(error.to_string()))?;
    let chat = Chat::resuming(parts.clone(), &caller, &request, *unfinished).await?;
    keyed.start(run, chat.keyed(run, recorded.clone()));
    Ok(true)
}

/// Returns a text that no other client has.
fn client_of(caller: &Caller) -> String {
    let name = || json!(["name", caller.name.as_deref()]).to_string();
    caller.principal.key().unwrap_or_else(name)
}

/// Returns the client again: the owner, or the bearer of a token that still holds.
fn caller_of(parts: &Parts, client: &str) -> Option<Caller> {
    match Principal::from_key(client)? {
        Principal::Owner => Some(Caller::new(None, None).authenticated(Principal::Owner)),
        principal => {
            let tokens = parts.access.tokens().all();
            let token = tokens.iter().find(|token| token.entry().principal() == principal)?;
            Some(token.caller())
        }
    }
}

fn header_of(run: CallId) -> HeaderValue {
    HeaderValue::from_str(&run.to_string()).unwrap_or(HeaderValue::from_static(""))
}

fn conflict() -> ChatFailure {
    let text = "this Idempotency-Key was used for another request; use a new key for a new request";
    let failure = ChatFailure::new(StatusCode::CONFLICT, text).coded("idempotency_key_reused");
    ChatFailure { is_final: true, ..failure }
}

pub(super) fn interrupted() -> ChatFailure {
    let text = "the run was interrupted; the same request goes on with it";
    ChatFailure::new(StatusCode::SERVICE_UNAVAILABLE, text).coded("interrupted")
}

fn unreadable(error: RunError) -> ChatFailure {
    tracing::error!(error = &error as &dyn std::error::Error, "a run cannot be read or written");
    let text = "the record of this request's run cannot be read or written";
    ChatFailure::new(StatusCode::SERVICE_UNAVAILABLE, text).coded("run_not_readable")
}
