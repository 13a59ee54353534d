//! Sound for tests: spoken by Piper, heard by Whisper.

use std::path::Path;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use switchboard_testkit::SpeechService;
use switchboard_voice::{Clip, Format, SpeechConfig, recogniser, synthesiser};

/// A service of a machine that may be busy with other tests.
fn patient(service: &SpeechService) -> SpeechConfig {
    let timeout = Some("5m".parse().unwrap());
    SpeechConfig { timeout, ..SpeechConfig::new(service.url()) }
}

/// What Piper says for a text, at the rate of recognisers, with silence before and after it.
pub(crate) async fn spoken(piper: &SpeechService, text: &str) -> Vec<i16> {
    let voice = synthesiser(&patient(piper)).unwrap();
    let mut spoken = voice.speak(text).await.unwrap();
    let mut sound = Clip { format: Format::SPEECH, samples: Vec::new() };
    while let Some(clip) = spoken.recv().await {
        let clip = clip.unwrap();
        sound.format = clip.format;
        sound.samples.extend(clip.samples);
    }
    let silence = [0; 16_000];
    [&silence[..], &at_speech_rate(&sound), &silence, &silence].concat()
}

/// Writes a file of 16 kHz.
pub(crate) fn write(file: &Path, samples: &[i16]) {
    let spec = WavSpec {
        channels: 1,
        sample_rate: 16_000,
        bits_per_sample: 16,
        sample_format: SampleFormat::Int,
    };
    let mut writer = WavWriter::create(file, spec).unwrap();
    samples.iter().for_each(|sample| writer.write_sample(*sample).unwrap());
    writer.finalize().unwrap();
}

/// What Whisper hears in a file.
pub(crate) async fn heard(whisper: &SpeechService, file: &Path) -> String {
    let mut reader = WavReader::open(file).unwrap();
    let spec = reader.spec();
    let samples = reader.samples::<i16>().map(Result::unwrap).collect();
    let sound =
        Clip { format: Format { rate: spec.sample_rate, channels: spec.channels }, samples };
    let padded = [vec![0; 8_000], at_speech_rate(&sound), vec![0; 8_000]].concat();
    let clip = Clip { format: Format::SPEECH, samples: padded };
    let ear = recogniser(&patient(whisper)).unwrap();
    ear.transcribe(&clip).await.unwrap()
}

/// The words of a text, without case and punctuation.
fn words(text: &str) -> String {
    let letters = |c: &char| c.is_alphanumeric() || c.is_whitespace();
    text.to_lowercase().chars().filter(letters).collect::<String>().trim().to_owned()
}

/// What was heard is what was said, but for a word at most: Whisper mishears, too.
pub(crate) fn assert_heard(heard: &str, said: &str) {
    let (heard, said) = (words(heard), words(said));
    let missed = said.split(' ').filter(|word| !heard.split(' ').any(|other| other == *word));
    assert!(missed.count() <= 1, "`{heard}` was heard, `{said}` was said");
}

fn at_speech_rate(sound: &Clip) -> Vec<i16> {
    let rate = sound.format.rate as usize;
    let length = sound.samples.len() * 16_000 / rate;
    (0..length).map(|place| sound.samples[place * rate / 16_000]).collect()
}
