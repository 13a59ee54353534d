//! A transcriber with fake parts: the test is its microphone, and its events are logged.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use switchboard_agent::{Agent, RunLimits, RunRecording, RunStore};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::ObedientModel;
use switchboard_toolcall::{BoxFuture, CallContext, Json, ToolError, tool_fn};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Assistant, BackgroundTranscriber, Blocks, Clip, Config, Error, Format, Recogniser, SpeechError,
    SpeechStream, Synthesiser, ToolServers, TranscriberParts, VoiceEvent, VoiceState, VoiceSummary,
    WakeWord,
    mqtt::Incoming,
    output::{Output, PlaybackError},
    source::Source,
};

/// Everything that happened, in short.
pub(crate) type EventLog = watch::Sender<Vec<String>>;

/// What the parts of a stage are to do.
pub(crate) struct TestPlan {
    pub(crate) config: Config,
    /// What the recogniser understands, one after the other; `!` and a reason is a failure.
    pub(crate) understood: Vec<&'static str>,
    pub(crate) has_recogniser: bool,
    /// Whether the sound comes as it happens.
    pub(crate) is_live: bool,
    /// How often the source cannot be opened first.
    pub(crate) closed: usize,
    pub(crate) voice: Failing,
    pub(crate) output: Failing,
    pub(crate) wake_word: Option<Arc<dyn WakeWord>>,
    /// Whether source, output and household are those of the settings.
    pub(crate) is_wired: bool,
    /// The servers that are connecting, until a time.
    pub(crate) servers: FakeServers,
    /// Where runs are written down, if they are.
    pub(crate) runs: Option<RunStore>,
}

/// Servers that are connecting until a point in time.
#[derive(Clone)]
pub(crate) struct FakeServers {
    pub(crate) names: Vec<String>,
    pub(crate) until: Instant,
}

impl ToolServers for FakeServers {
    fn connecting(&self) -> Vec<String> {
        if Instant::now() < self.until { self.names.clone() } else { Vec::new() }
    }

    fn wait_until_ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(sleep_until(self.until))
    }
}

/// Whether a part works.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Failing {
    No,
    Yes,
    /// There is none.
    Absent,
}

impl Default for TestPlan {
    fn default() -> Self {
        Self {
            config: Config { barge_in: Some(true), ..Config::default() },
            understood: Vec::new(),
            has_recogniser: true,
            is_live: true,
            closed: 0,
            voice: Failing::No,
            output: Failing::No,
            wake_word: None,
            is_wired: false,
            servers: FakeServers { names: Vec::new(), until: Instant::now() },
            runs: None,
        }
    }
}

/// A running transcriber.
pub(crate) struct TestTranscriber {
    pub(crate) event_log: EventLog,
    pub(crate) parrot: ObedientModel,
    pub(crate) executor: ToolExecutor,
    pub(crate) sound: Option<mpsc::UnboundedSender<Vec<i16>>>,
    pub(crate) household: mpsc::Sender<Incoming>,
    pub(crate) stop: CancellationToken,
    run: tokio::task::JoinHandle<VoiceSummary>,
}

impl TestTranscriber {
    pub(crate) fn new(plan: TestPlan) -> Self {
        let event_log = EventLog::default();
        let parrot = ObedientModel::default();
        let executor = executor();
        let (sound, blocks) = mpsc::unbounded_channel();
        let source =
            TestSource { blocks: Some(blocks), is_live: plan.is_live, closed: plan.closed };
        let understood = plan.understood.iter().map(|text| (*text).to_owned()).collect();
        let recogniser: Arc<dyn Recogniser> = Arc::new(FakeRecogniser(Mutex::new(understood)));
        let is_there = |part: Failing| part != Failing::Absent;
        let said =
            FakeSynthesiser { event_log: event_log.clone(), fails: plan.voice == Failing::Yes };
        let played =
            FakeSpeaker { event_log: event_log.clone(), fails: plan.output == Failing::Yes };
        let told = event_log.clone();
        let parts = TranscriberParts {
            recogniser: plan.has_recogniser.then_some(recogniser),
            wake_word: plan.wake_word,
            assistant: assistant(&parrot, &executor, &plan.config, plan.servers, plan.runs),
            synthesiser: is_there(plan.voice).then(|| Arc::new(said) as Arc<dyn Synthesiser>),
            source: (!plan.is_wired).then(|| Box::new(source) as Box<dyn Source>),
            output: (is_there(plan.output) && !plan.is_wired)
                .then(|| Arc::new(played) as Arc<dyn Output>),
            watcher: Arc::new(move |news| note(&told, in_short(news))),
            config: plan.config,
        };
        let mut gateway = BackgroundTranscriber::new(parts).unwrap();
        let (household, incoming) = mpsc::channel(64);
        if !plan.is_wired {
            gateway.incoming = incoming;
        }
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let run = tokio::spawn(async move { gateway.run(&stopped).await });
        Self { event_log, parrot, executor, sound: Some(sound), household, stop, run }
    }

    /// Makes a sound, in real time.
    pub(crate) async fn hear(&self, sounds: &[Vec<i16>]) {
        for block in sounds.concat().chunks(1600) {
            self.give(block.to_vec());
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Makes a sound, all of it at once.
    pub(crate) fn give(&self, sound: Vec<i16>) {
        self.sound.as_ref().unwrap().send(sound).unwrap();
    }

    pub(crate) async fn send(&self, incoming: Incoming) {
        self.household.send(incoming).await.unwrap();
    }

    pub(crate) async fn ask(&self, text: &str) {
        self.send(Incoming::Request(Ok(text.to_owned()))).await;
    }

    /// Waits until this has happened.
    pub(crate) async fn until(&self, what: &str) {
        let mut event_log = self.event_log.subscribe();
        let seen = event_log.wait_for(|event_log| event_log.iter().any(|entry| entry == what));
        let is_seen = tokio::time::timeout(Duration::from_secs(600), seen).await.is_ok();
        assert!(is_seen, "never {what}: {:?}", self.event_log.borrow());
    }

    /// All that happened, once there is no more sound and all is answered.
    pub(crate) async fn played_out(mut self) -> (Vec<String>, VoiceSummary) {
        self.sound = None;
        let ended = self.run.await.unwrap();
        (self.event_log.borrow().clone(), ended)
    }

    /// All that happened, once it was told to stop.
    pub(crate) async fn stopped(self) -> Vec<String> {
        self.stop.cancel();
        self.run.await.unwrap();
        self.event_log.borrow().clone()
    }
}

fn note(event_log: &EventLog, entry: String) {
    event_log.send_modify(|event_log| event_log.push(entry));
}

fn in_short(news: &VoiceEvent) -> String {
    match news {
        VoiceEvent::State(VoiceState::Connecting(servers)) => {
            format!("connecting {}", servers.join(", "))
        }
        VoiceEvent::State(state) => state.word().to_owned(),
        VoiceEvent::Called(word) => format!("called {word}"),
        VoiceEvent::Ignored(reason) => format!("ignored: {reason}"),
        VoiceEvent::Transcription(said) => format!("heard {} from {}", said.text, said.source),
        VoiceEvent::Calling(tool) => format!("calling {tool}"),
        VoiceEvent::Answer(answer) => {
            format!("answer {} to {} #{}", answer.answer, answer.source, answer.conversation_turns)
        }
        VoiceEvent::Failure(failure) => {
            format!("failed {}: {}", json!(failure.stage).as_str().unwrap(), failure.error)
        }
    }
}

/// A tool that works and one that does not.
fn executor() -> ToolExecutor {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    let executor = ToolExecutor::default();
    let good = tool_fn("light", |_: Nothing, _: CallContext| async { Json("on") });
    let bad = tool_fn("broken", |_: Nothing, _: CallContext| async {
        Err::<String, _>(ToolError::failed("the bulb is gone"))
    });
    executor.tools().add(good.describe("Switches")).unwrap();
    executor.tools().add(bad.describe("Fails")).unwrap();
    executor
}

/// An assistant whose model says what it is told.
fn assistant(
    parrot: &ObedientModel,
    executor: &ToolExecutor,
    config: &Config,
    servers: FakeServers,
    runs: Option<RunStore>,
) -> Assistant {
    let model: Arc<dyn switchboard_models::Model> = Arc::new(parrot.clone());
    let mut agent =
        Agent::new(model.clone(), executor.clone(), switchboard_agent::Config::default());
    if let Some(store) = runs {
        agent = agent.with_recording(RunRecording {
            store,
            model: "m".to_owned(),
            tools: Vec::new(),
            profile: None,
            chat: None,
            id: None,
            request: None,
            limits: RunLimits { age: Duration::from_secs(3600), bytes: 1_000_000 },
        });
    }
    Assistant::new(agent, &model, config, Arc::new(servers))
}

/// Sound that a test makes.
struct TestSource {
    blocks: Option<mpsc::UnboundedReceiver<Vec<i16>>>,
    is_live: bool,
    closed: usize,
}

impl Source for TestSource {
    fn name(&self) -> &str {
        "talk"
    }

    fn is_live(&self) -> bool {
        self.is_live
    }

    fn open(&mut self) -> BoxFuture<'_, Result<Box<dyn Blocks + Send>, Error>> {
        let is_closed = self.closed > 0;
        self.closed = self.closed.saturating_sub(1);
        let blocks = if is_closed { None } else { self.blocks.take() };
        Box::pin(async {
            let blocks = blocks.ok_or_else(|| Error::device("talk", "nobody talks"))?;
            Ok(Box::new(TestBlocks(blocks)) as Box<dyn Blocks + Send>)
        })
    }
}

struct TestBlocks(mpsc::UnboundedReceiver<Vec<i16>>);

impl Blocks for TestBlocks {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>> {
        Box::pin(self.0.recv())
    }
}

/// Understands what it was told.
struct FakeRecogniser(Mutex<VecDeque<String>>);

impl Recogniser for FakeRecogniser {
    fn name(&self) -> &str {
        "scribe"
    }

    fn transcribe<'a>(&'a self, _: &'a Clip) -> BoxFuture<'a, Result<String, SpeechError>> {
        let text = self.0.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move {
            match text.strip_prefix('!') {
                Some(reason) => Err(refused("scribe", reason)),
                None => Ok(text),
            }
        })
    }
}

/// Speaks for as long as the text is: a tenth of a second each letter.
struct FakeSynthesiser {
    event_log: EventLog,
    fails: bool,
}

impl Synthesiser for FakeSynthesiser {
    fn name(&self) -> &str {
        "speaker"
    }

    fn speak<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<SpeechStream, SpeechError>> {
        Box::pin(async move {
            if self.fails {
                return Err(refused("speaker", "is hoarse"));
            }
            note(&self.event_log, format!("says {text}"));
            let (sender, spoken) = mpsc::channel(1);
            let samples = vec![1; text.len() * 1600];
            let _ = sender.try_send(Ok(Clip { format: Format::SPEECH, samples }));
            Ok(spoken)
        })
    }
}

/// Plays in real time, and tells whether to the end.
struct FakeSpeaker {
    event_log: EventLog,
    fails: bool,
}

impl Output for FakeSpeaker {
    fn play<'a>(&'a self, mut spoken: SpeechStream) -> BoxFuture<'a, Result<(), PlaybackError>> {
        Box::pin(async move {
            if self.fails {
                return Err(Error::device("room", "it has no air").into());
            }
            let mut playing = FakePlayback { event_log: self.event_log.clone(), is_whole: false };
            while let Some(clip) = spoken.recv().await {
                sleep(clip?.duration()).await;
            }
            playing.is_whole = true;
            Ok(())
        })
    }
}

struct FakePlayback {
    event_log: EventLog,
    is_whole: bool,
}

impl Drop for FakePlayback {
    fn drop(&mut self) {
        let word = if self.is_whole { "said" } else { "cut" };
        note(&self.event_log, word.to_owned());
    }
}

/// A word that is heard after some blocks; it fails some times first.
pub(crate) struct FakeWakeWord {
    pub(crate) after: usize,
    pub(crate) fails: AtomicUsize,
}

impl WakeWord for FakeWakeWord {
    fn name(&self) -> &str {
        "name"
    }

    fn listen<'a>(
        &'a self,
        blocks: &'a mut (dyn Blocks + Send),
    ) -> BoxFuture<'a, Result<String, SpeechError>> {
        Box::pin(async {
            let fails = self.fails.load(Ordering::SeqCst);
            if fails > 0 {
                self.fails.store(fails - 1, Ordering::SeqCst);
                return Err(refused("name", "does not listen"));
            }
            for _ in 0..self.after {
                if blocks.next().await.is_none() {
                    return Err(refused("name", "heard the end"));
                }
            }
            Ok("computer".to_owned())
        })
    }
}

fn refused(service: &str, reason: &str) -> SpeechError {
    SpeechError::Refused { service: service.to_owned(), reason: reason.to_owned() }
}
