//! Which images a model is sent (SPEC RS-6).
//!
//! Models that see are sent images as they are. The others read a line in place of each image. Whether a model sees is what
//! its config says (`images`), else what its provider tells, else what comes of sending one: a model that refuses a request
//! with images is asked once more without them and, if that helps, is sent none again in this process.

mod refusal;
mod replace;

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{LazyLock, Mutex, OnceLock, PoisonError},
};

use crate::{Image, Message, ModelConfig, ModelError, ModelEvent, lower, model::ModelEvents};

pub(crate) use refusal::{is_refusal, may_be_refused};

/// How many refusals are remembered, of single images.
const MOST_REFUSED: usize = 10_000;

/// What was refused in this process.
static REFUSED: LazyLock<Mutex<HashSet<RefusedImages>>> = LazyLock::new(Mutex::default);

#[derive(PartialEq, Eq, Hash)]
struct RefusedImages {
    by: ModelKey,
    /// The hash of one image; `None` stands for all images.
    image: Option<u64>,
}

/// A model at its provider. What its config says of images is part of it, so that a changed setting is tried again.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ModelKey {
    base_url: String,
    model: String,
    images: Option<bool>,
}

/// What is known of a model and images.
pub(crate) struct Images {
    key: ModelKey,
    /// What the provider told when it was asked: perhaps nothing.
    told: OnceLock<Option<bool>>,
}

impl Images {
    pub(crate) fn new(config: &ModelConfig) -> Self {
        let (base_url, model) = (config.base_url().to_owned(), config.model.clone());
        let key = ModelKey { base_url, model, images: config.images };
        Self { key, told: OnceLock::new() }
    }

    /// Whether only the provider can say if these messages may go as they are.
    pub(crate) fn is_in_question(&self, messages: &[Message]) -> bool {
        self.key.images.is_none() && self.told.get().is_none() && has_any(messages)
    }

    /// Remembers what the provider told.
    pub(crate) fn set_takes_images(&self, takes_images: Option<bool>) {
        // What it told first holds as long as this client does.
        let _ = self.told.set(takes_images);
    }

    /// Returns the messages as the model takes them, and warns of images that it is not sent.
    pub(crate) fn fitted<'m>(
        &self,
        messages: &'m [Message],
        events: ModelEvents<'_>,
    ) -> Cow<'m, [Message]> {
        if !has_any(messages) || all(messages).all(|image| self.takes(image)) {
            return Cow::Borrowed(messages);
        }
        self.warn_of_new(messages, events);
        Cow::Owned(replace::images(messages, |image| !self.takes(image)))
    }

    fn takes(&self, image: &Image) -> bool {
        let sees = self.key.images.or_else(|| self.told.get().copied().flatten()).unwrap_or(true);
        let refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let of_all_or_this = [None, Some(lower::hash(&image.data))];
        let mut which = of_all_or_this.into_iter();
        sees && !which.any(|image| refused.contains(&RefusedImages { by: self.key.clone(), image }))
    }

    /// Remembers that the images of these messages were refused for this reason: they alone if it is about them, else all.
    pub(crate) fn refuse(
        &self,
        messages: &[Message],
        reason: &ModelError,
        events: ModelEvents<'_>,
    ) {
        let which: Vec<_> = match refusal::is_about_one_image(reason) {
            true => all(messages).map(|image| Some(lower::hash(&image.data))).collect(),
            false => vec![None],
        };
        let which = which.into_iter().map(|image| RefusedImages { by: self.key.clone(), image });
        let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() > MOST_REFUSED {
            // What is forgotten is refused once more.
            refused.retain(|refused| refused.image.is_none());
        }
        refused.extend(which);
        drop(refused);
        let text = format!(
            "the provider refused an image, so the model reads a line that names it: {reason}"
        );
        warn(text, events);
    }

    /// Warns of images that came after the model's last answer; of earlier ones it was said then.
    fn warn_of_new(&self, messages: &[Message], events: ModelEvents<'_>) {
        let last = messages.iter().rposition(|message| matches!(message, Message::Ai(_)));
        let new = &messages[last.map_or(0, |last| last + 1)..];
        // A user who set `images = false` expects this for results, but maybe not for an image that they attach.
        let is_expected = |message: &Message| {
            self.key.images == Some(false) && matches!(message, Message::Tool(_))
        };
        let new = new.iter().filter(|message| !is_expected(message)).flat_map(of);
        let text = match new.filter(|image| !self.takes(image)).count() {
            0 => return,
            1 => "the model takes no images; it reads a line that names the image".to_owned(),
            many => {
                format!("the model takes no images; it reads lines that name the {many} images")
            }
        };
        warn(text, events);
    }
}

/// Returns the messages with a line in place of every image.
pub(crate) fn without_any(messages: &[Message]) -> Vec<Message> {
    replace::images(messages, |_| true)
}

/// Whether there is any image.
pub(crate) fn has_any(messages: &[Message]) -> bool {
    all(messages).next().is_some()
}

fn all(messages: &[Message]) -> impl Iterator<Item = &Image> {
    messages.iter().flat_map(of)
}

fn of(message: &Message) -> &[Image] {
    match message {
        Message::User(said) => &said.images,
        Message::Tool(reply) => &reply.images,
        Message::System(_) | Message::Ai(_) => &[],
    }
}

fn warn(text: String, events: ModelEvents<'_>) {
    tracing::warn!("{text}");
    events(ModelEvent::Warning(text));
}

#[cfg(test)]
mod tests;
