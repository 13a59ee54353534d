//! A running chat: messages are answered by the model, commands are carried out.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, anyhow, bail};
use switchboard_agent::{Agent, ChatStore, Resumable, RunStart, Transcript, UnfinishedRun, chats};
use switchboard_models::UserMessage;
use tokio::time::Instant;

use super::{
    command::{self, Command},
    lines::{ChatInput, ChatLine},
};
use crate::{
    approvals::HeldCalls,
    assembly::App,
    cli::{ChatArgs, Cli, ModelArgs},
    model::{self, ChosenModel},
    records,
    settings::LoadedConfig,
    terminal::{self, Paint, text},
    turn_view::{self, AnswerDisplay, TurnEnding, TurnScreen},
};

/// The dependencies of a chat, which never change.
#[derive(Clone, Copy)]
pub(super) struct ChatDeps<'a> {
    pub(super) chat: &'a ChatArgs,
    pub(super) cli: &'a Cli,
    pub(super) app: &'a App,
    pub(super) loaded: &'a LoadedConfig,
}

impl ChatDeps<'_> {
    /// Returns the agent for a model, with the options of this chat.
    fn agent(&self, chosen: &ChosenModel) -> anyhow::Result<Agent> {
        let config = self.loaded.settings.agent.clone();
        chosen.agent(&self.chat.model_args, self.app, self.loaded, config)
    }
}

/// A running chat.
pub(super) struct ChatSession<'a> {
    deps: ChatDeps<'a>,
    store: ChatStore,
    chosen: ChosenModel,
    agent: Agent,
    transcript: Transcript,
    paint: Paint,
    /// The file of the last `/save`.
    saved: Option<PathBuf>,
    /// Whether a turn failed.
    failed: bool,
}

impl<'a> ChatSession<'a> {
    /// Creates a chat with a model that continues the transcript.
    ///
    /// # Errors
    /// A pattern of tools is invalid.
    pub(super) fn new(
        deps: ChatDeps<'a>,
        store: ChatStore,
        chosen: ChosenModel,
        mut transcript: Transcript,
    ) -> anyhow::Result<Self> {
        let agent = deps.agent(&chosen)?;
        transcript.model.clone_from(&chosen.name);
        let paint = Paint::stderr(deps.cli.color);
        Ok(Self { deps, store, chosen, agent, transcript, paint, saved: None, failed: false })
    }

    /// Runs until the input ends or the person quits.
    ///
    /// # Errors
    /// Stdin or stdout fails, or Ctrl-C was pressed while reading from a pipe.
    pub(super) async fn run(mut self) -> anyhow::Result<ExitCode> {
        let mut lines = ChatInput::open();
        if lines.is_typed() {
            self.greet();
        }
        if self.deps.chat.resume.is_some() {
            self.finish_interrupted().await?;
        }
        loop {
            match lines.next().await? {
                ChatLine::End => break,
                ChatLine::Text(line) if line.trim().is_empty() => {}
                ChatLine::Text(line) => match Command::parse(&line) {
                    None => self.turn(&line).await?,
                    Some(Ok(Command::Quit)) => break,
                    Some(Ok(command)) => self.obey(command).await?,
                    Some(Err(problem)) => {
                        self.failed = true;
                        terminal::tell(&text::lines(&problem));
                    }
                },
            }
        }
        // A person at the terminal has seen the failure; scripts get the exit status.
        let failed = self.failed && !lines.is_typed();
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn greet(&self) {
        let many = self.offered().len();
        let tools = if many == 1 { "tool" } else { "tools" };
        let name = &self.chosen.name;
        let line = format!("{name} with {many} {tools}; /help lists the commands, Ctrl-D ends");
        terminal::tell(&self.paint.dim(&line));
        if self.deps.chat.resume.is_some() {
            let (id, title) =
                (&self.transcript.id, text::shorten(&text::one_line(self.transcript.title()), 50));
            let turns = self.transcript.turns();
            let line = format!("going on with {id}: {title} (questions so far: {turns})");
            terminal::tell(&self.paint.dim(&line));
        }
    }

    async fn turn(&mut self, said: &str) -> anyhow::Result<()> {
        let said = said.trim();
        // `//` stands for a message that begins with a slash, because one slash begins a command.
        self.say(if said.starts_with("//") { &said[1..] } else { said }, false).await
    }

    async fn say(&mut self, said: &str, pinned: bool) -> anyhow::Result<()> {
        self.transcript.messages.say(UserMessage { pinned, ..said.into() });
        // Saved before the turn, too, so that it can be finished after a crash.
        if self.agent.is_recorded() {
            self.keep();
        }
        self.answer(None).await
    }

    /// Finishes the turn that a crash interrupted, if there is one (SPEC RN-2).
    async fn finish_interrupted(&mut self) -> anyhow::Result<()> {
        let Some(store) = records::runs(self.deps.loaded) else { return Ok(()) };
        let Some(id) = store.interrupted_in(&self.transcript.id)? else { return Ok(()) };
        let unfinished = match store.take(id) {
            Ok(Resumable::Unfinished(unfinished)) => *unfinished,
            Ok(Resumable::Ended(_)) => return Ok(()),
            Err(error) => {
                self.failed = true;
                self.tell_error(&error.into());
                return Ok(());
            }
        };
        let start = unfinished.start();
        if !start.is_of_owner() || start.profile != self.deps.chat.model_args.profile {
            let text = format!(
                "a turn was interrupted in another profile: `switchboard runs resume {id}` finishes it"
            );
            terminal::tell(&self.paint.yellow(&text));
            return Ok(());
        }
        // If the chat went on without that turn, it stays as it is.
        if !unfinished.start().messages.starts_with(self.transcript.messages.messages()) {
            return Ok(());
        }
        let line = format!("finishing the turn that was interrupted (run {id})");
        terminal::tell(&self.paint.dim(&line));
        let agent = match self.agent_of(unfinished.start()).await {
            Ok(agent) => agent,
            Err(error) => {
                self.failed = true;
                self.tell_error(&error);
                return Ok(());
            }
        };
        let current = std::mem::replace(&mut self.agent, agent);
        let finished = self.answer(Some(unfinished)).await;
        self.agent = current;
        finished
    }

    /// Returns the agent with which a turn began: its model, its tools, its limits.
    async fn agent_of(&self, start: &RunStart) -> anyhow::Result<Agent> {
        let ChatDeps { app, loaded, chat, .. } = self.deps;
        let chosen = match start.model == self.chosen.name {
            true => self.chosen.clone(),
            false => model::choose(Some(&start.model), loaded).await?,
        };
        let asked = ModelArgs {
            model: Some(start.model.clone()),
            tools: start.settings.tools.clone(),
            max_iterations: start.settings.max_iterations,
            ..chat.model_args.clone()
        };
        let agent = chosen.agent(&asked, app, loaded, loaded.settings.agent.clone())?;
        Ok(agent.with_options(start.settings.options()?))
    }

    /// Lets the model answer the last message, or go on with an interrupted turn.
    async fn answer(&mut self, unfinished: Option<UnfinishedRun>) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut screen = TurnScreen::new(AnswerDisplay::Streamed, true, self.deps.cli.color);
        let agent = self.agent.clone().in_chat(&self.transcript.id);
        let (chosen, messages) = (&self.chosen, &mut self.transcript.messages);
        let loaded = self.deps.loaded;
        let mut held = loaded.is_attached.then(|| HeldCalls::new(loaded));
        let outcome =
            turn_view::turn(&agent, messages, unfinished, chosen, &mut screen, held.as_mut()).await;
        // Saved even if the turn could not be shown.
        self.keep();
        let outcome = outcome?;
        let ending = TurnEnding::of(
            outcome.as_ref(),
            self.chosen.model.provider(),
            self.agent.offers_tools(),
        );
        match &ending {
            TurnEnding::Cancelled => {
                terminal::tell(&self.paint.yellow("cancelled; what was finished is kept"));
            }
            ending => ending.tell(self.paint),
        }
        self.failed |= !matches!(ending, TurnEnding::Answer { .. });
        if let Some(outcome) = outcome.filter(|_| screen.is_watched()) {
            let line = turn_view::summary(outcome.usage, began.elapsed());
            terminal::tell(&self.paint.dim(&line));
        }
        Ok(())
    }

    /// Saves the chat in the store; if that fails, warns and lets the chat continue.
    fn keep(&self) {
        if let Err(error) = self.store.keep(&self.transcript) {
            let error = text::lines(&format!("{:#}", anyhow::Error::from(error)));
            let warning = self.paint.yellow("warning:");
            terminal::tell(&format!("{warning} the chat is not saved: {error}"));
        }
    }

    fn tell_error(&self, error: &anyhow::Error) {
        let error = text::lines(&format!("{error:#}"));
        terminal::tell(&format!("{} {error}", self.paint.bold_red("error:")));
    }

    async fn obey(&mut self, command: Command) -> anyhow::Result<()> {
        match command {
            Command::Help => terminal::print(command::HELP)?,
            Command::Tools => self.print_tools()?,
            Command::Model(None) => self.print_models()?,
            Command::Model(Some(name)) => {
                if let Err(error) = self.change_model(&name).await {
                    self.tell_error(&error);
                }
            }
            Command::Save(file) => {
                if let Err(error) = self.save(file) {
                    self.tell_error(&error);
                }
            }
            Command::Context => self.print_context().await?,
            Command::Pin(Some(said)) => self.say(&said, true).await?,
            Command::Pin(None) => self.pin_last(),
            Command::Unpin => {
                self.transcript.messages.unpin_all();
                self.keep();
                terminal::tell(&self.paint.dim("nothing is pinned any more"));
            }
            Command::Expand(artifact) => {
                if let Err(error) = self.expand(artifact).await {
                    self.tell_error(&error);
                }
            }
            Command::Clear => {
                self.transcript = Transcript::new(
                    self.chosen.name.clone(),
                    self.deps.chat.model_args.conversation(),
                );
                terminal::tell(&self.paint.dim("a new chat begins"));
            }
            Command::Quit => {}
        }
        Ok(())
    }

    async fn print_context(&self) -> anyhow::Result<()> {
        let usage = self.agent.context_usage(&self.transcript.messages).await;
        let window = match usage.window {
            Some(window) => format!("about {} of {window} tokens", usage.tokens),
            None => format!("about {} tokens; nobody knows the model's window", usage.tokens),
        };
        let mut lines = vec![window];
        for said in self.transcript.messages.pinned() {
            lines.push(format!("pinned  {}", text::shorten(&text::one_line(said), 80)));
        }
        for place in self.transcript.messages.shortened() {
            lines.push(format!("{}  {}", place.artifact, text::one_line(&place.what)));
        }
        terminal::print(&lines.join("\n"))?;
        Ok(())
    }

    /// Pins the last question with its answer.
    fn pin_last(&mut self) {
        let Some(said) = self.transcript.messages.pin_last(true) else {
            self.failed = true;
            terminal::tell("nothing was said yet; `/pin TEXT` says something that is pinned");
            return;
        };
        let line = format!("pinned: {}", text::shorten(&text::one_line(said), 60));
        terminal::tell(&self.paint.dim(&line));
        self.keep();
    }

    /// Puts back what was shortened.
    async fn expand(&mut self, artifact: Option<String>) -> anyhow::Result<()> {
        let shortened = self.transcript.messages.shortened();
        let is_meant = |id: &str| artifact.as_deref().is_none_or(|asked| id.starts_with(asked));
        let place = shortened.iter().rev().find(|place| is_meant(&place.artifact));
        let id =
            place.context("nothing like that was shortened; /context lists it")?.artifact.clone();
        let stored = self.deps.app.executor.artifacts().get(&id).await;
        let stored = stored.map_err(|error| anyhow!("the artifact cannot be read: {error}"))?;
        let stored = stored.context("its artifact has given way to newer ones")?;
        let whole = String::from_utf8(stored.bytes.to_vec()).context("the artifact is not text")?;
        if !self.transcript.messages.expand(&id, &whole) {
            bail!("the artifact is not what was shortened");
        }
        self.keep();
        terminal::tell(&self.paint.dim("it is whole again"));
        Ok(())
    }

    async fn change_model(&mut self, name: &str) -> anyhow::Result<()> {
        let chosen = model::choose(Some(name), self.deps.loaded).await?;
        self.agent = self.deps.agent(&chosen)?;
        self.chosen = chosen;
        self.transcript.model.clone_from(&self.chosen.name);
        // A chat without any message is not saved.
        if self.transcript.turns() > 0 {
            self.keep();
        }
        terminal::tell(&self.paint.dim(&format!("{} answers from now on", self.chosen.name)));
        Ok(())
    }

    fn save(&mut self, file: Option<PathBuf>) -> anyhow::Result<()> {
        let Some(file) = file else {
            self.store.keep(&self.transcript)?;
            let file =
                self.store.file_of(&self.transcript.id).context("there is no folder for it")?;
            terminal::tell(&self.paint.dim(&format!("saved as {}", file.display())));
            return Ok(());
        };
        if file.exists() && self.saved.as_ref() != Some(&file) {
            bail!("`{}` is there already; choose another name", file.display());
        }
        chats::write(&file, &self.transcript)?;
        terminal::tell(&self.paint.dim(&format!("saved as {}", file.display())));
        self.saved = Some(file);
        Ok(())
    }

    /// The tools that the model is offered, each with what it does.
    fn offered(&self) -> Vec<(String, String)> {
        let offered = self.chosen.offered(&self.deps.chat.model_args.tools).ok().flatten();
        let ChatDeps { chat, app, loaded, .. } = &self.deps;
        let seen = app.model_visibility(loaded, chat.model_args.profile.as_deref());
        let all = app.executor.tools().listed_for(&seen);
        let is_offered = |name: &str| offered.as_ref().is_none_or(|globs| globs.matches(name));
        let tools = all.iter().filter(|tool| is_offered(tool.name()));
        let described = |text: &str| text::one_line(text);
        tools.map(|tool| (described(tool.name()), described(&tool.spec().description))).collect()
    }

    fn print_tools(&self) -> anyhow::Result<()> {
        let tools = self.offered();
        if tools.is_empty() {
            terminal::tell("the model is offered no tools");
            return Ok(());
        }
        let paint = Paint::stdout(self.deps.cli.color);
        let widest = tools.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let room = terminal::width().saturating_sub(widest + 2).max(20);
        let lines = tools.iter().map(|(name, description)| {
            let name = paint.bold(&text::pad(name, widest));
            format!("{name}  {}", text::shorten(description, room))
        });
        terminal::print(&lines.collect::<Vec<_>>().join("\n"))?;
        Ok(())
    }

    fn print_models(&self) -> anyhow::Result<()> {
        let others =
            self.deps.loaded.settings.models.keys().filter(|name| **name != self.chosen.name);
        let others: Vec<_> = others.map(String::as_str).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("; the config has {} too", others.join(", ")),
        };
        terminal::print(&format!("{}{others}", self.chosen.name))?;
        Ok(())
    }
}
