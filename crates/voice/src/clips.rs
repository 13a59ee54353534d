//! Speech in progress, passed on clip by clip, with the same limits for every protocol.

use switchboard_toolcall::BoxFuture;
use tokio::sync::mpsc;

use crate::{Clip, Format, SpeechError, SpeechStream};

/// Clips that are made ahead of being played.
const AHEAD: usize = 64;
/// The most samples of one answer: some twenty minutes. Only a broken service sends more.
const MOST_SAMPLES: usize = 32 << 20;

/// A service's answer in progress.
pub(crate) trait Clips: Send + 'static {
    /// The service, for people.
    fn service(&self) -> &str;

    /// Returns the next clip; `None` at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Clip>, SpeechError>>;
}

/// Waits for the first clip, and passes on the others as they arrive.
///
/// # Errors
/// Fails if there is no first clip; later errors are in the stream.
pub(crate) async fn hand_on(clips: impl Clips) -> Result<SpeechStream, SpeechError> {
    let (sender, spoken) = mpsc::channel(AHEAD);
    let mut speech = ClipStream { clips, format: None, samples: 0 };
    let Some(first) = speech.next().await? else { return Ok(spoken) };
    // Cannot fail: the channel is empty.
    let _ = sender.try_send(Ok(first));
    tokio::spawn(async move {
        tokio::select! {
            () = speech.pass_on(&sender) => {}
            // The receiver was dropped; the service notices when its connection ends with this task.
            () = sender.closed() => {}
        }
    });
    Ok(spoken)
}

/// What has arrived so far.
struct ClipStream<C> {
    clips: C,
    format: Option<Format>,
    samples: usize,
}

impl<C: Clips> ClipStream<C> {
    /// Passes on the rest, including errors.
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
