//! The file of a run that goes on, and what an interrupted one left.

use std::{
    collections::HashMap,
    fs::{self, File, TryLockError},
    io::{self, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_models::{AiMessage, Message, Price, StopReason, ToolReply, Usage};
use switchboard_runtime::{ArtifactSource, EndedRun, private_files};
use switchboard_toolcall::CallId;

use super::{RunDetail, RunState, RunStore, RunSummary, hash::RunHash, saved, writer::RunWriter};
use crate::{RunSettings, fit::ConversationEdit};

/// The first line: what was asked, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunStart {
    /// The run's id, which its calls have as their conversation.
    pub id: CallId,
    /// The model, as `-m` takes it.
    pub model: String,
    /// When it began, in UTC.
    pub started: String,
    /// The client program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Who the caller was authenticated as, unless it is the user who runs this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The chat that it is a turn of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The conversation that its calls have, if that is not the run's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The profile of `--profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// How it was asked beside that.
    #[serde(default)]
    pub settings: RunSettings,
    /// How many turns of its file a scripted model had said before.
    #[serde(default)]
    pub skip: usize,
    /// The price of the model's tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The request that a client may repeat, if it sent a key along with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
    /// The conversation up to the question.
    pub messages: Vec<Message>,
    /// Eighty random bits: the hashes of what follows are in the journal, and must not tell which of a few secrets it has.
    #[serde(default)]
    pub salt: String,
}

impl RunStart {
    /// Returns what was asked.
    pub fn question(&self) -> &str {
        let said = self.messages.iter().rev().find_map(|message| match message {
            Message::User(said) => Some(&*said.content),
            _ => None,
        });
        said.unwrap_or_default()
    }

    /// Whether the user who runs this process asked, whose rights the run had.
    pub fn is_of_owner(&self) -> bool {
        self.principal.is_none()
    }
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunLine {
    Start(Box<RunStart>),
    /// What the model said, before its calls run.
    Turn {
        message: Message,
        stop: StopReason,
        usage: Usage,
        /// When it was complete, in milliseconds since 1970.
        #[serde(default, rename = "at")]
        completed_at_ms: u64,
    },
    /// The tool of the last turn's call at this position is about to run.
    #[serde(rename = "began")]
    CallBegun {
        position: usize,
        /// Whether it has no second effect if it runs again with the same key.
        honours_keys: bool,
        /// In milliseconds since 1970.
        #[serde(default)]
        at: u64,
    },
    /// The call at this position has ended.
    Reply {
        position: usize,
        reply: Message,
        outcome: String,
        call_id: Option<CallId>,
        #[serde(default, rename = "at")]
        completed_at_ms: u64,
        /// How long it took.
        #[serde(default)]
        elapsed_ms: u64,
    },
    /// What the model said of a turn that did not come to its end; it is asked again if the run goes on.
    Partial {
        text: String,
        /// In milliseconds since 1970.
        at: u64,
    },
    /// What the model was told of an answer that does not fit its schema.
    Reminder {
        text: String,
    },
    /// The conversation was made shorter.
    #[serde(rename = "edited")]
    ConversationEdit(ConversationEdit),
    /// A process goes on with the run.
    Resumed {
        /// In milliseconds since 1970.
        at: u64,
    },
}

/// A turn with what became of its calls, by position.
#[derive(Debug)]
pub(crate) struct RecordedTurn {
    /// How the conversation was made shorter before it.
    pub(crate) edits: Vec<ConversationEdit>,
    pub(crate) message: AiMessage,
    pub(crate) stop: StopReason,
    pub(crate) usage: Usage,
    pub(crate) completed_at_ms: u64,
    /// The calls that began.
    pub(crate) begun_calls: HashMap<usize, BegunCall>,
    pub(crate) replies: HashMap<usize, ToolReply>,
    pub(crate) outcomes: HashMap<usize, RecordedOutcome>,
    /// What the model was told of it, if it is an answer that does not fit its schema.
    pub(crate) reminder: Option<String>,
}

/// A call that began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunCall {
    /// Whether it has no second effect if it runs again with the same key.
    pub(crate) honours_keys: bool,
    /// When it began, in milliseconds since 1970.
    pub(crate) at: u64,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct RecordedOutcome {
    pub(crate) outcome: String,
    pub(crate) call_id: Option<CallId>,
    pub(crate) completed_at_ms: u64,
    pub(crate) elapsed_ms: u64,
}

/// What a file says.
#[derive(Debug)]
pub(crate) struct RecordedRun {
    pub(crate) start: RunStart,
    pub(crate) turns: Vec<RecordedTurn>,
    /// How the conversation was made shorter after the last turn.
    pub(crate) edits: Vec<ConversationEdit>,
    /// What the model said of the turn after the last, which did not come to its end.
    pub(crate) partial: Option<String>,
    /// How long it took in each process that had it.
    times: RunTimes,
}

/// When a run was under way, in milliseconds since 1970.
#[derive(Debug)]
struct RunTimes {
    /// When the last process began with it, and the last that is known of that process.
    began: u64,
    last: u64,
    /// How long it took in the processes before.
    spent: u64,
}

impl RunTimes {
    fn of(start: &RunStart) -> Self {
        let began = start.started.parse::<Timestamp>().ok();
        let began = began.and_then(|began| u64::try_from(began.as_millisecond()).ok());
        let began = began.unwrap_or_default();
        Self { began, last: began, spent: 0 }
    }

    fn is_known_at(&mut self, at: u64) {
        self.last = self.last.max(at);
    }

    fn goes_on_at(&mut self, at: u64) {
        self.spent = self.spent();
        (self.began, self.last) = (at, at);
    }

    fn spent(&self) -> u64 {
        self.spent.saturating_add(self.last.saturating_sub(self.began))
    }
}

/// An interrupted run that this process has taken over.
#[derive(Debug)]
pub struct UnfinishedRun {
    pub(crate) recorded: RecordedRun,
    pub(crate) live: LiveRun,
}

impl UnfinishedRun {
    /// How it began.
    pub fn start(&self) -> &RunStart {
        &self.recorded.start
    }
}

/// The file of a run that this process runs. Dropped before its end, the run is recorded as cancelled, unless this process
/// only took it over and did not go on with it, or a client may ask for its answer again.
#[derive(Debug)]
pub(crate) struct LiveRun {
    store: RunStore,
    pub(crate) id: CallId,
    file: RunWriter,
    /// Whether this process goes on with it.
    goes_on: AtomicBool,
    /// Whether a client may ask for its answer again, so that it is not over if this process stops.
    stays: bool,
}

impl LiveRun {
    /// Begins a file, locked for this process. It has its first line as soon as it has its name.
    ///
    /// # Errors
    /// There is a run with this id, or the file cannot be written.
    pub(crate) fn create(store: &RunStore, start: RunStart) -> io::Result<Self> {
        private_files::create_dir(&store.folder)?;
        let (id, stays) = (start.id, start.request.is_some());
        if store.saved(id).exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // Its own name: another process may begin the same run.
        let new = store.folder.join(format!("{id}.{}.new", CallId::generate()));
        let mut options = File::options();
        let file = private_files::open(options.create_new(true).append(true), &new)?;
        let file = RunWriter::new(file, store.syncs, RunHash::default());
        let begun = file
            .add(&RunLine::Start(Box::new(start)))
            .and_then(|()| file.begin())
            .and_then(|()| fs::hard_link(&new, store.live(id)));
        fs::remove_file(&new)?;
        begun?;
        store.sync_folder()?;
        Ok(Self { store: store.clone(), id, file, goes_on: true.into(), stays })
    }

    /// This process goes on with the run.
    pub(crate) fn go_on(&self, at: u64) {
        self.goes_on.store(true, Ordering::Relaxed);
        // Written with the first line that matters.
        _ = self.add(&RunLine::Resumed { at });
    }

    /// Adds a line, which is written with the next [`flush`](Self::flush) or [`commit`](Self::commit). After a failure the file is
    /// removed, because a run whose calls are not all written down must not be resumed.
    pub(crate) fn add(&self, line: &RunLine) -> io::Result<()> {
        self.file.add(line).inspect_err(|_| self.remove())
    }

    /// Writes the lines that were added.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.file.flush().map(drop).inspect_err(|_| self.remove())
    }

    /// Writes the lines that were added, and waits until they have reached what `[audit] durability` says.
    pub(crate) async fn commit(&self) -> io::Result<()> {
        self.file.commit().await.inspect_err(|_| self.remove())
    }

    /// Returns the SHA-256 of the file up to its last turn.
    pub(crate) fn turn_sha256(&self) -> Option<Arc<str>> {
        self.file.turn_sha256()
    }

    /// Notes that the run needs an artifact that no record of a call names, so that it stays as long as the run does.
    pub(crate) fn note_artifact(
        &self,
        artifact: &str,
        source: &ArtifactSource,
        size: u64,
    ) -> io::Result<()> {
        self.store.artifacts.note(artifact, self.id, source, size)
    }

    fn remove(&self) {
        _ = fs::remove_file(self.store.live(self.id));
    }

    /// Whether its end waits for the disk or for other processes.
    pub(crate) fn end_waits(&self) -> bool {
        self.store.end_waits()
    }

    /// Writes into the journal what the file of the run will hold. Before the file gets its name: after a kill in between the run
    /// goes on, and its end is written again.
    fn vouch_for(&self, detail: &RunDetail, text: &str) {
        let Some(journal) = &self.store.journal else { return };
        let RunSummary { state, turns, .. } = detail.summary;
        let run = EndedRun { id: self.id, state: state.code(), turns, file: text.as_bytes() };
        if let Err(cause) = journal.ended(&run) {
            tracing::warn!(run = %self.id, %cause, "the journal cannot vouch for the file of a run");
        }
    }

    /// Replaces the file by what people are shown. Blocks if it [waits](Self::end_waits).
    pub(crate) fn end(&self, state: RunState, error: Option<&str>) -> io::Result<()> {
        self.flush()?;
        let Some(_held) = self.file.end() else { return Ok(()) };
        let path = self.store.live(self.id);
        let run = read(&fs::read(&path)?)?.0;
        let detail = RunDetail::of(&run, state, error);
        let text = saved::text(&detail)?;
        self.vouch_for(&detail, &text);
        saved::write(&self.store.saved(self.id), &text, self.store.syncs)?;
        self.store.sync_folder()?;
        fs::remove_file(&path)
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        if self.stays || !*self.goes_on.get_mut() {
            _ = self.flush();
            return;
        }
        if let Err(cause) = self.end(RunState::Cancelled, None) {
            tracing::warn!(run = %self.id, %cause, "the end of a run could not be recorded");
        }
    }
}

/// Reads a run, and whether a process has it.
pub(super) fn peek(path: &Path) -> io::Result<(RecordedRun, bool)> {
    let mut file = File::open(path)?;
    let is_held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    _ = file.unlock();
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok((read(&text)?.0, is_held))
}

/// How often the lock is tried: somebody who only looks whether the run is alive has it for a moment, too.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Locks a file. Returns `false` if another process has it.
#[expect(clippy::disallowed_methods, reason = "waits only while somebody looks at the file")]
pub(super) fn lock(file: &File) -> io::Result<bool> {
    let mut tries = 0;
    while let Err(error) = file.try_lock() {
        tries += 1;
        match error {
            TryLockError::WouldBlock if tries < TRIES => thread::sleep(PAUSE),
            TryLockError::WouldBlock => return Ok(false),
            TryLockError::Error(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Takes over a run. Returns `None` if another process has it.
pub(super) fn take(store: &RunStore, id: CallId) -> io::Result<Option<UnfinishedRun>> {
    let path = store.live(id);
    let file = File::options().read(true).append(true).open(&path)?;
    if !lock(&file)? {
        return Ok(None);
    }
    // The process that had the lock may have ended the run meanwhile.
    if !path.exists() {
        return Ok(None);
    }
    let text = fs::read(&path)?;
    if !text.contains(&b'\n') {
        // Its first line was never whole, so nothing was asked yet.
        fs::remove_file(&path)?;
        return Err(io::ErrorKind::NotFound.into());
    }
    let (recorded, whole) = read(&text)?;
    // A line that was cut by the crash is removed, so that the next one begins a line.
    file.set_len(whole)?;
    let hash = RunHash::of(text.get(..usize::try_from(whole).unwrap_or(0)).unwrap_or_default());
    let live = LiveRun {
        store: store.clone(),
        id,
        file: RunWriter::new(file, store.syncs, hash),
        goes_on: false.into(),
        stays: recorded.start.request.is_some(),
    };
    Ok(Some(UnfinishedRun { recorded, live }))
}

/// Removes the file of a run, unless a process has it: it is too old, or its process was killed between writing what people
/// are shown and removing what nobody needs any more.
pub(super) fn remove_unless_held(path: &Path) -> io::Result<()> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    if !lock(&file)? {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Parses a file. Returns the run, and how many bytes its whole lines have.
fn read(text: &[u8]) -> io::Result<(RecordedRun, u64)> {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let first = lines.next().map(serde_json::from_slice).transpose()?;
    let Some(RunLine::Start(start)) = first else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not begin like a run"));
    };
    let times = RunTimes::of(&start);
    let (turns, edits, partial) = (Vec::new(), Vec::new(), None);
    let mut run = RecordedRun { start: *start, turns, edits, partial, times };
    for line in lines {
        run.add(serde_json::from_slice(line)?);
    }
    Ok((run, whole as u64))
}

impl RecordedRun {
    fn add(&mut self, line: RunLine) {
        match line {
            RunLine::Turn { completed_at_ms: at, .. }
            | RunLine::Partial { at, .. }
            | RunLine::CallBegun { at, .. }
            | RunLine::Reply { completed_at_ms: at, .. } => self.times.is_known_at(at),
            RunLine::Resumed { at } => self.times.goes_on_at(at),
            _ => {}
        }
        match (line, self.turns.last_mut()) {
            (RunLine::Turn { message: Message::Ai(message), stop, usage, completed_at_ms }, _) => {
                self.partial = None;
                self.turns.push(RecordedTurn {
                    edits: std::mem::take(&mut self.edits),
                    message,
                    stop,
                    usage,
                    completed_at_ms,
                    begun_calls: HashMap::new(),
                    replies: HashMap::new(),
                    outcomes: HashMap::new(),
                    reminder: None,
                });
            }
            (RunLine::CallBegun { position, honours_keys, at }, Some(turn)) => {
                turn.begun_calls.insert(position, BegunCall { honours_keys, at });
            }
            (
                RunLine::Reply {
                    position,
                    reply: Message::Tool(reply),
                    outcome,
                    call_id,
                    completed_at_ms,
                    elapsed_ms,
                },
                Some(turn),
            ) => {
                turn.replies.insert(position, reply);
                let outcome = RecordedOutcome { outcome, call_id, completed_at_ms, elapsed_ms };
                turn.outcomes.insert(position, outcome);
            }
            (RunLine::ConversationEdit(edit), _) => self.edits.push(edit),
            (RunLine::Partial { text, .. }, _) => self.partial = Some(text),
            (RunLine::Reminder { text }, Some(turn)) => turn.reminder = Some(text),
            // Lines of other versions.
            _ => {}
        }
    }

    /// Returns how long the run took, as far as its processes recorded it.
    pub(crate) fn spent(&self) -> Duration {
        Duration::from_millis(self.times.spent())
    }

    /// Returns every change that made the conversation shorter.
    pub(crate) fn all_edits(&self) -> impl Iterator<Item = &ConversationEdit> {
        self.turns.iter().flat_map(|turn| &turn.edits).chain(&self.edits)
    }

    /// Returns the conversation, with the lines of results that were shortened; messages that became a summary are whole.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut messages = self.whole_messages();
        let lines: HashMap<&str, &str> = self
            .all_edits()
            .filter_map(|edit| match edit {
                ConversationEdit::Shortened(edit) => Some((&*edit.tool_call_id, &*edit.line)),
                ConversationEdit::Summarised(_)
                | ConversationEdit::Cleared(_)
                | ConversationEdit::Compacted(_) => None,
            })
            .collect();
        for message in &mut messages {
            if let Message::Tool(reply) = message
                && let Some(line) = lines.get(&*reply.tool_call_id)
            {
                reply.content = (*line).to_owned();
            }
        }
        messages
    }

    /// Returns the whole conversation; the repair of conversations fills in what is missing.
    fn whole_messages(&self) -> Vec<Message> {
        let mut messages = self.start.messages.clone();
        for turn in &self.turns {
            messages.push(Message::Ai(turn.message.clone()));
            let calls = turn.message.tool_calls.iter().enumerate();
            messages.extend(calls.filter_map(|(position, call)| {
                let reply = turn.replies.get(&position)?.clone();
                Some(Message::Tool(ToolReply { tool_call_id: call.id.clone(), ..reply }))
            }));
            messages.extend(turn.reminder.as_deref().map(|text| Message::User(text.into())));
        }
        messages.extend(self.partial.as_deref().map(|said| Message::Ai(AiMessage::text(said))));
        messages
    }
}
