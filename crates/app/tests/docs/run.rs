//! The commands of one block, with what the test does before and after them.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    cargo,
    commands::{Shown, runs_on, words},
    compare,
    page::Block,
    shell::{CommandOutcome, Shell, Step},
};

/// How long a command that runs on may take until it has said what the page shows.
const PATIENCE: Duration = Duration::from_secs(30);

/// The commands of a block with what comes before and after them.
pub(crate) struct Run<'a> {
    block: &'a Block,
    shown: Vec<Shown>,
    steps: Vec<(Role, Step)>,
}

/// What a step is there for.
#[derive(Clone, Copy)]
enum Role {
    /// It is only for the test.
    Hidden,
    /// It finds out what a text of the block stands for, by the text's place in the notes.
    Let(usize),
    /// It is shown, by its place in the block.
    Shown(usize),
}

impl<'a> Run<'a> {
    pub(crate) fn new(block: &'a Block, shown: Vec<Shown>) -> Self {
        let notes = &block.notes;
        let hidden = |command: &String| (Role::Hidden, Step::new(command));
        let mut steps: Vec<_> = notes.before.iter().map(hidden).collect();
        let mut unknown: Vec<_> = notes.replace.iter().enumerate().collect();
        let look_up = |(place, (_, command)): (usize, &(String, String))| {
            let value = format!("let_{place}");
            let step = format!("{value}=$({command}); printf %s \"${value}\"; [ -n \"${value}\" ]");
            (Role::Let(place), Step::new(&step))
        };
        // What only outputs show is looked up first, all else right before it is needed: it may be the id of what the last
        // command made.
        let only_printed = |text: &str| !shown.iter().any(|shown| shown.command.contains(text));
        steps.extend(unknown.extract_if(.., |(_, (text, _))| only_printed(text)).map(look_up));
        for (index, shown) in shown.iter().enumerate() {
            let is_needed = |text: &str| shown.command.contains(text);
            steps.extend(unknown.extract_if(.., |(_, (text, _))| is_needed(text)).map(look_up));
            let mut command = cargo::in_place_of(&shown.command);
            for (place, (text, _)) in notes.replace.iter().enumerate() {
                command = command.replace(text, &format!("${{let_{place}}}"));
            }
            if is_paid(&command) {
                command = format!(
                    "(export ANTHROPIC_API_KEY=made-up OPENAI_API_KEY=made-up\n{command}\n)"
                );
            }
            steps.push((Role::Shown(index), Step { runs_on: runs_on(&command), command }));
        }
        steps.extend(notes.then.iter().map(hidden));
        Self { block, shown, steps }
    }

    pub(crate) fn go(&self, shell: &Shell) -> Result<(), String> {
        if self.steps.is_empty() {
            return Ok(());
        }
        let place = &self.block.place;
        let (roles, steps): (Vec<_>, Vec<_>) =
            self.steps.iter().map(|(role, step)| (*role, step)).unzip();
        let ran = shell.run(&steps).map_err(|error| format!("{place}: {error}"))?;
        for ((role, step), ran) in roles.iter().zip(&steps).zip(&ran) {
            self.judge(*role, step, ran)?;
        }
        let texts = &self.block.notes.replace;
        let found = roles.iter().zip(&ran).filter_map(|(role, ran)| match role {
            Role::Let(place) => Some((texts[*place].0.as_str(), ran.output())),
            _ => None,
        });
        let found: Vec<_> = found.collect();
        for (role, ran) in roles.iter().zip(&ran) {
            if let Role::Shown(index) = role {
                self.compare(&self.shown[*index], ran, &found)?;
            }
        }
        Ok(())
    }

    /// Checks how a command ended.
    fn judge(&self, role: Role, step: &Step, ran: &CommandOutcome) -> Result<(), String> {
        let (place, expected) = match role {
            Role::Shown(index) => (self.place_of(&self.shown[index]), self.expected(index)),
            Role::Hidden | Role::Let(_) => (self.block.place.clone(), vec![0]),
        };
        let (command, status, output) = (&step.command, ran.status, ran.output());
        if !expected.contains(&status) {
            return Err(format!(
                "{place}: `{command}` ended with status {status}, not {expected:?}; it said:\n{output}"
            ));
        }
        // It must have come as far as the network.
        if is_paid(command) && !output.contains("could not reach") {
            return Err(format!(
                "{place}: `{command}` failed for another reason than the network:\n{output}"
            ));
        }
        Ok(())
    }

    /// The line of a command; of one that is only in the notes, that of the block.
    fn place_of(&self, shown: &Shown) -> String {
        match self.block.notes.output {
            Some(_) => self.block.place.clone(),
            None => self.block.place_of(shown.offset),
        }
    }

    /// The exit statuses that are right for a command.
    fn expected(&self, index: usize) -> Vec<i32> {
        let command = &self.shown[index].command;
        match self.block.notes.status.get(index) {
            Some(status) => vec![*status],
            // What a paid service answers, nobody here knows: the command is parsed, the key is there, and the network is not.
            None if is_paid(command) => vec![1],
            // It reports what this machine has, and that is no speaker, for instance.
            None if words(&cargo::in_place_of(command)).iter().any(|word| word == "doctor") => {
                vec![0, 1]
            }
            None => vec![0],
        }
    }

    fn compare(
        &self,
        shown: &Shown,
        ran: &CommandOutcome,
        found: &[(&str, String)],
    ) -> Result<(), String> {
        let is_output = self.block.notes.output.is_some();
        let (place, command) = (self.place_of(shown), &shown.command);
        if is_output && self.block.language == "json" {
            let shape = |text: &str| serde_json::from_str::<Value>(text);
            let shown = shape(&self.block.text).map_err(|error| format!("{place}: {error}"))?;
            let there = ran.output();
            let there = shape(&there).map_err(|error| {
                format!("{place}: `{command}` printed no JSON ({error}):\n{there}")
            })?;
            return match compare::difference(&shown, &there, "") {
                Some(difference) => {
                    Err(format!("{place}: of what `{command}` prints, {difference}"))
                }
                None => Ok(()),
            };
        }
        let mut lines = match is_output {
            true => self.block.text.lines().map(str::to_owned).collect(),
            false => shown.output.clone(),
        };
        for (text, value) in found {
            lines.iter_mut().for_each(|line| *line = line.replace(text, value));
        }
        let began = Instant::now();
        loop {
            let there = ran.output();
            let Some(missing) = compare::first_missing(&lines, &there) else { return Ok(()) };
            if runs_on(command).is_none() || began.elapsed() > PATIENCE {
                return Err(format!(
                    "{place}: `{command}` did not print\n    {missing}\nbut\n{there}"
                ));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Returns whether the command asks a model that costs money.
fn is_paid(command: &str) -> bool {
    words(command).iter().any(|word| {
        word.starts_with("anthropic:") || word.starts_with("openai:") && !word.contains('@')
    })
}
