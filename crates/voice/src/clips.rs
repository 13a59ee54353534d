//! Speech as it is made, handed on clip by clip: whatever protocol it comes over, its limits are the same.

use switchboard_toolcall::BoxFuture;
use tokio::sync::mpsc;

use crate::{Clip, Format, SpeechError, SpeechStream};

/// Clips that are made ahead of being played.
const AHEAD: usize = 64;
/// The most samples of one answer: some twenty minutes. Nobody says that much; only a broken service does.
const MOST_SAMPLES: usize = 32 << 20;

/// An answer of a service that is still under way.
pub(crate) trait Clips: Send + 'static {
    /// The service, for people.
    fn service(&self) -> &str;

    /// The next clip, or none at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Clip>, SpeechError>>;
}

/// Waits for the first clip, and hands on the others as they come.
///
/// # Errors
/// There is no first clip: until then, trouble of the service is the caller's to know.
pub(crate) async fn hand_on(clips: impl Clips) -> Result<SpeechStream, SpeechError> {
    let (sender, spoken) = mpsc::channel(AHEAD);
    let mut speech = ClipStream { clips, format: None, samples: 0 };
    let Some(first) = speech.next().await? else { return Ok(spoken) };
    // There is room for it.
    let _ = sender.try_send(Ok(first));
    tokio::spawn(async move {
        tokio::select! {
            () = speech.pass_on(&sender) => {}
            // Nobody listens any more; the service notices when its connection ends with this task.
            () = sender.closed() => {}
        }
    });
    Ok(spoken)
}

/// What has come so far.
struct ClipStream<C> {
    clips: C,
    format: Option<Format>,
    samples: usize,
}

impl<C: Clips> ClipStream<C> {
    /// Hands on what is left, trouble included.
    async fn pass_on(&mut self, sender: &mpsc::Sender<Result<Clip, SpeechError>>) {
        loop {
            let next = self.next().await;
            let is_last = next.is_err();
            let Some(next) = next.transpose() else { return };
            if sender.send(next).await.is_err() || is_last {
                return;
            }
        }
    }

    async fn next(&mut self) -> Result<Option<Clip>, SpeechError> {
        let Some(clip) = self.clips.next().await? else { return Ok(None) };
        if *self.format.get_or_insert(clip.format) != clip.format {
            return Err(self.refused("changed the format in the middle of its speech"));
        }
        self.samples += clip.samples.len();
        if self.samples > MOST_SAMPLES {
            return Err(self.refused("does not stop speaking"));
        }
        Ok(Some(clip))
    }

    fn refused(&self, reason: &str) -> SpeechError {
        SpeechError::Refused { service: self.clips.service().to_owned(), reason: reason.to_owned() }
    }
}
