//! The clients before real speech services: Piper, faster-whisper and openWakeWord.
//!
//! `cargo xtask test` installs them and says where they are. If they are not there the test fails; none is skipped.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

use std::path::PathBuf;

use switchboard_testkit::SpeechService;
use switchboard_toolcall::BoxFuture;
use switchboard_voice::{Blocks, Clip, Format, SpeechConfig, recogniser, synthesiser, wake_word};

fn parts() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "`cargo xtask test` says where the parts are")]
    std::env::var("SWITCHBOARD_PARTS").expect("`cargo xtask test` sets it").into()
}

/// A service of a machine that may be busy with other tests.
fn patient(service: &SpeechService) -> SpeechConfig {
    let timeout = Some("5m".parse().unwrap());
    SpeechConfig { timeout, ..SpeechConfig::new(service.url()) }
}

/// What a service says for a text, as one clip, and in how many it came.
async fn spoken(config: &SpeechConfig, text: &str) -> (Clip, usize) {
    let mut spoken = synthesiser(config).unwrap().speak(text).await.unwrap();
    let (mut whole, mut clips) = (spoken.recv().await.unwrap().unwrap(), 1);
    while let Some(clip) = spoken.recv().await {
        let clip = clip.unwrap();
        assert_eq!(clip.format, whole.format);
        whole.samples.extend(clip.samples);
        clips += 1;
    }
    (whole, clips)
}

/// The sound at the rate of recognisers, with silence around it: they lose words at the edges.
fn for_recognisers(clip: &Clip) -> Clip {
    let silence = vec![0; 16_000];
    let length = clip.samples.len() * 16_000 / clip.format.rate as usize;
    let taken = |place: usize| clip.samples[place * clip.format.rate as usize / 16_000];
    let sound: Vec<i16> = (0..length).map(taken).collect();
    Clip { format: Format::SPEECH, samples: [silence.clone(), sound, silence].concat() }
}

/// The words alone: how they are written is the model's taste.
fn words(text: &str) -> String {
    let letters = |c: char| c.is_alphanumeric() || c.is_whitespace();
    text.to_lowercase().chars().filter(|c| letters(*c)).collect()
}

// HM-2
#[tokio::test(flavor = "multi_thread")]
async fn what_piper_says_whisper_writes_down() {
    let (piper, whisper) = (SpeechService::piper(&parts()), SpeechService::whisper(&parts()));
    let voice = SpeechConfig { voice: Some("en_US-joe-medium".to_owned()), ..patient(&piper) };
    let mut ear = patient(&whisper);
    ear.language = Some("en".to_owned());
    for text in ["Turn on the kitchen light.", "It is twenty one degrees. The window is open."] {
        let (clip, clips) = spoken(&voice, text).await;
        assert_eq!(clip.format, Format { rate: 22_050, channels: 1 });
        assert!(clips > 10, "it came in {clips}");
        let heard = recogniser(&ear).unwrap().transcribe(&for_recognisers(&clip)).await.unwrap();
        // Whisper writes numbers as it likes.
        assert_eq!(words(&heard).replace("21", "twenty one"), words(text), "{heard}");
    }

    let nobody = SpeechConfig { voice: Some("nobody".to_owned()), ..voice };
    let error = synthesiser(&nobody).unwrap().speak("Hello").await.err().unwrap().to_string();
    assert!(error.ends_with("answered with an error: nobody (VoiceNotFoundError)"), "{error}");
}

/// A recording in blocks of 80 ms, no faster than it would be spoken, and silence for ever.
struct Recording(Vec<i16>);

impl Blocks for Recording {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>> {
        Box::pin(async {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            let rest = self.0.split_off(self.0.len().min(1_280));
            let mut block = std::mem::replace(&mut self.0, rest);
            block.resize(1_280, 0);
            Some(block)
        })
    }
}

// HM-2
#[tokio::test(flavor = "multi_thread")]
async fn the_wake_word_is_heard_and_other_words_are_not() {
    let piper = SpeechService::piper(&parts());
    let service = SpeechService::open_wake_word(&parts());
    let voice = patient(&piper);
    let ear = SpeechConfig { model: Some("hey_jarvis".to_owned()), ..patient(&service) };
    let listener = wake_word(&ear).unwrap();
    let other = for_recognisers(&spoken(&voice, "Turn on the kitchen light").await.0).samples;
    let word = for_recognisers(&spoken(&voice, "Hey Jarvis!").await.0).samples;
    let before = other.len();
    let mut recording = Recording([other, word].concat());
    let all = recording.0.len();
    let heard = listener.listen(&mut recording).await.unwrap();
    assert!(heard.starts_with("hey_jarvis"), "{heard}");
    let taken = all - recording.0.len();
    assert!(taken > before, "it woke after {taken} samples, but the word came after {before}");
}
