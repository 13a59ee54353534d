//! `switchboard chat`: a conversation, line by line (SPEC ML-8).

mod command;
mod history;
mod lines;
mod list;
mod store;
mod transcript;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use switchboard_agent::{Agent, Conversation};
use switchboard_models::Message;
use tokio::time::Instant;

use self::{
    command::Command,
    lines::{Line, Lines},
    store::Store,
    transcript::Transcript,
};
use crate::{
    cli::{Chat, Cli},
    connections::{
        INTERRUPTED, Interrupted, Needs, is_watched, on_runtime, unless_interrupted,
        while_connected,
    },
    house::House,
    model::{self, Chosen},
    rehearsal,
    settings::Loaded,
    talk::{self, Answers, Ending, Screen},
    terminal::{self, Paint, text},
};

pub(super) fn run(chat: &Chat, cli: &Cli) -> anyhow::Result<ExitCode> {
    if chat.list {
        return list::run(chat, cli);
    }
    let loaded = rehearsal::load(cli)?;
    let house = House::build(&loaded)?;
    let store = Store::open();
    let transcript = match &chat.resume {
        Some(which) => Some(store.find(which.as_deref())?),
        None => None,
    };
    let outcome = on_runtime(async {
        let chosen = choose(chat, transcript.as_ref(), &loaded).await?;
        let agent = chosen.agent(&chat.asked, &house, loaded.settings.agent.clone())?;
        let transcript = begun(chat, transcript, &chosen);
        while_connected(&house, &loaded, Needs::All, async |connections| {
            let ready = async {
                connections.settled(is_watched(false)).await;
                Ok(())
            };
            unless_interrupted(ready).await?;
            model::tell_unmatched(&chat.asked.tools, &house);
            let paint = Paint::stderr(cli.color);
            let session = Session {
                chat,
                cli,
                house: &house,
                loaded: &loaded,
                store,
                chosen,
                agent,
                transcript,
                paint,
                saved: None,
                failed: false,
            };
            session.run().await
        })
        .await
    });
    match outcome {
        Err(error) if error.is::<Interrupted>() => Ok(ExitCode::from(INTERRUPTED)),
        other => other,
    }
}

/// The model of `-m`, or else the one that a saved chat had, or else the usual one.
async fn choose(
    chat: &Chat,
    resumed: Option<&Transcript>,
    loaded: &Loaded,
) -> anyhow::Result<Chosen> {
    let wanted = chat.asked.model.as_deref();
    if let (None, Some(transcript)) = (wanted, resumed.filter(|chat| !chat.model.is_empty())) {
        match model::choose(Some(&transcript.model), loaded).await {
            Ok(chosen) => return Ok(chosen),
            Err(error) => terminal::tell(&format!("warning: the chat's model is left: {error:#}")),
        }
    }
    model::choose(wanted, loaded).await
}

/// The saved chat, or a new one; `--system` is obeyed in both.
fn begun(chat: &Chat, resumed: Option<Transcript>, chosen: &Chosen) -> Transcript {
    let Some(mut transcript) = resumed else {
        return Transcript::new(chosen.name.clone(), chat.asked.conversation());
    };
    if chat.asked.system.is_some() {
        let mut messages = chat.asked.conversation().messages().to_vec();
        let old = transcript.messages.messages();
        let first = old.iter().position(|message| !matches!(message, Message::System(_)));
        messages.extend_from_slice(&old[first.unwrap_or(old.len())..]);
        transcript.messages = Conversation::from(messages);
    }
    transcript
}

/// A chat that goes on.
struct Session<'a> {
    chat: &'a Chat,
    cli: &'a Cli,
    house: &'a House,
    loaded: &'a Loaded,
    store: Store,
    chosen: Chosen,
    agent: Agent,
    transcript: Transcript,
    paint: Paint,
    /// The file of the last `/save`.
    saved: Option<PathBuf>,
    /// Whether a turn failed.
    failed: bool,
}

impl Session<'_> {
    async fn run(mut self) -> anyhow::Result<ExitCode> {
        let mut lines = Lines::open(&self.store);
        if lines.is_typed() {
            self.greet();
        }
        loop {
            match lines.next().await? {
                Line::End => break,
                Line::Text(line) if line.trim().is_empty() => {}
                Line::Text(line) => match Command::parse(&line) {
                    None => self.turn(&line).await?,
                    Some(Ok(Command::Quit)) => break,
                    Some(Ok(command)) => self.obey(command).await?,
                    Some(Err(problem)) => {
                        self.failed = true;
                        terminal::tell(&problem);
                    }
                },
            }
        }
        // People have seen what failed.
        let failed = self.failed && !lines.is_typed();
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn greet(&self) {
        let many = self.offered().len();
        let tools = if many == 1 { "tool" } else { "tools" };
        let name = &self.chosen.name;
        let line = format!("{name} with {many} {tools}; /help lists the commands, Ctrl-D ends");
        terminal::tell(&self.paint.dim(&line));
        if self.chat.resume.is_some() {
            let (id, title) = (&self.transcript.id, text::shorten(&self.transcript.title(), 50));
            let turns = self.transcript.turns();
            let line = format!("going on with {id}: {title} (questions so far: {turns})");
            terminal::tell(&self.paint.dim(&line));
        }
    }

    async fn turn(&mut self, said: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        let said = said.trim();
        // Two slashes say one, for one begins a command.
        self.transcript.messages.say(if said.starts_with("//") { &said[1..] } else { said });
        let mut screen = Screen::new(Answers::Streamed, true, self.cli.color);
        let outcome = talk::turn(&self.agent, &mut self.transcript.messages, &mut screen).await;
        // Kept also where nobody can be shown anything any more.
        self.keep();
        let outcome = outcome?;
        let ending = Ending::of(outcome.as_ref(), self.chosen.model.provider());
        ending.tell(self.paint);
        self.failed |= !matches!(ending, Ending::Answer { .. });
        if let Some(outcome) = outcome.filter(|_| screen.is_watched()) {
            let line = talk::summary(outcome.usage, began.elapsed());
            terminal::tell(&self.paint.dim(&line));
        }
        Ok(())
    }

    /// Saves the chat where they are all saved; one that cannot be saved can still go on.
    fn keep(&mut self) {
        self.transcript.model.clone_from(&self.chosen.name);
        if let Err(error) = self.store.keep(&self.transcript) {
            terminal::tell(&format!(
                "{} the chat is not saved: {error:#}",
                self.paint.yellow("warning:")
            ));
        }
    }

    async fn obey(&mut self, command: Command) -> anyhow::Result<()> {
        match command {
            Command::Help => terminal::print(command::HELP)?,
            Command::Tools => self.print_tools()?,
            Command::Model(None) => self.print_models()?,
            Command::Model(Some(name)) => {
                if let Err(error) = self.change_model(&name).await {
                    terminal::tell(&format!("{} {error:#}", self.paint.bold_red("error:")));
                }
            }
            Command::Save(file) => {
                if let Err(error) = self.save(file) {
                    terminal::tell(&format!("{} {error:#}", self.paint.bold_red("error:")));
                }
            }
            Command::Clear => {
                self.transcript =
                    Transcript::new(self.chosen.name.clone(), self.chat.asked.conversation());
                terminal::tell(&self.paint.dim("a new chat begins"));
            }
            Command::Quit => {}
        }
        Ok(())
    }

    async fn change_model(&mut self, name: &str) -> anyhow::Result<()> {
        let chosen = model::choose(Some(name), self.loaded).await?;
        let config = self.loaded.settings.agent.clone();
        self.agent = chosen.agent(&self.chat.asked, self.house, config)?;
        self.chosen = chosen;
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
            anyhow::bail!("`{}` is there already; choose another name", file.display());
        }
        store::write(&file, &self.transcript)?;
        terminal::tell(&self.paint.dim(&format!("saved as {}", file.display())));
        self.saved = Some(file);
        Ok(())
    }

    /// The tools that the model is offered, each with what it does.
    fn offered(&self) -> Vec<(String, String)> {
        let offered = self.chosen.offered(&self.chat.asked.tools).ok().flatten();
        let all = self.house.executor.tools().all();
        let is_offered = |name: &str| offered.as_ref().is_none_or(|globs| globs.matches(name));
        let tools = all.iter().filter(|tool| is_offered(tool.name()));
        let described = |text: &str| text::one_line(text);
        tools.map(|tool| (tool.name().to_string(), described(&tool.spec().description))).collect()
    }

    fn print_tools(&self) -> anyhow::Result<()> {
        let tools = self.offered();
        if tools.is_empty() {
            terminal::tell("the model is offered no tools");
            return Ok(());
        }
        let paint = Paint::stdout(self.cli.color);
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
        let others = self.loaded.settings.models.keys().filter(|name| **name != self.chosen.name);
        let others: Vec<_> = others.map(String::as_str).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("; the config has {} too", others.join(", ")),
        };
        terminal::print(&format!("{}{others}", self.chosen.name))?;
        Ok(())
    }
}
