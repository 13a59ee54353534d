//! Sounds made of numbers, before the real detector and before one that does as it is told.

use super::*;
use switchboard_testkit::sounds::{babble, hum, noise, silence};
use switchboard_toolcall::HumanDuration;

/// What was noticed of a sound, in short: `onset`, `speech`, `1.5s`, or why it was ignored.
fn notice(activity: &mut Activity, sounds: &[Vec<i16>]) -> Vec<String> {
    let sound = sounds.concat();
    let noticed = sound.chunks_exact(FRAME).filter_map(|frame| activity.push(frame));
    noticed.map(in_short).collect()
}

fn in_short(noticed: ActivityEvent) -> String {
    match noticed {
        ActivityEvent::Onset => "onset".to_owned(),
        ActivityEvent::Speech => "speech".to_owned(),
        ActivityEvent::Ended(SpeechEnd::Utterance(clip)) => {
            format!("{:.1}s", clip.duration().as_secs_f32())
        }
        ActivityEvent::Ended(SpeechEnd::Ignored(reason)) => reason,
    }
}

/// Takes every sound for speech.
struct Loud;

impl Detector for Loud {
    fn score(&mut self, frame: &[i16]) -> f32 {
        if frame.iter().any(|sample| sample.abs() > 1) { 1.0 } else { 0.0 }
    }
}

/// A detector that takes every sound for speech, and the usual limits.
fn told() -> Activity {
    Activity::with(&Config::default(), Box::new(Loud))
}

// HM-2
#[test]
fn speech_is_heard_and_noise_is_not() {
    let is_heard = |sounds: &[Vec<i16>]| {
        let noticed = notice(&mut Activity::new(&Config::default()), sounds);
        noticed.contains(&"speech".to_owned())
    };
    let over = |voice: Vec<i16>, other: Vec<i16>| -> Vec<i16> {
        voice.iter().zip(other).map(|(voice, other)| voice.saturating_add(other)).collect()
    };
    assert!(is_heard(&[silence(1.0), babble(1.5, 0.3), silence(2.0)]));
    assert!(is_heard(&[hum(1.0, 0.02), over(babble(1.5, 0.3), hum(1.5, 0.02)), hum(2.0, 0.02)]));
    assert!(is_heard(&[noise(1.0, 0.01), over(babble(1.5, 0.3), noise(1.5, 0.01)), silence(2.0)]));
    assert!(!is_heard(&[silence(5.0)]));
    assert!(!is_heard(&[silence(0.5), hum(4.0, 0.3), silence(2.0)]));
    assert!(!is_heard(&[silence(0.5), noise(4.0, 0.2), silence(2.0)]));
}

// HM-2: 300 ms before, 1.5 s of silence after, 10 s at most.
#[test]
fn what_is_said_is_cut_out_with_its_surroundings() {
    let heard = |sounds: &[Vec<i16>]| notice(&mut told(), sounds);
    assert_eq!(
        heard(&[silence(1.0), hum(2.0, 0.3), silence(3.0)]),
        ["onset", "speech", "3.8s"] // 0.3 + 2 + 1.5
    );
    // A pause that is not long enough belongs to it.
    let pause = [silence(1.0), hum(1.0, 0.3), silence(1.2), hum(1.0, 0.3), silence(3.0)];
    assert_eq!(heard(&pause), ["onset", "speech", "5.0s"]);
    // Two things that are said one after the other.
    let two = [hum(1.0, 0.3), silence(1.8), hum(1.0, 0.3), silence(1.8)];
    assert_eq!(heard(&two), ["onset", "speech", "2.8s", "onset", "speech", "2.8s"]);
    // Who does not stop is cut, and goes on to be heard.
    assert_eq!(
        heard(&[silence(1.0), hum(13.0, 0.3), silence(3.0)]),
        ["onset", "speech", "10.3s", "onset", "speech", "4.5s"]
    );
    // What is under way when the sound ends counts.
    let mut activity = told();
    assert_eq!(notice(&mut activity, &[silence(1.0), hum(1.0, 0.3)]), ["onset", "speech"]);
    let ending = activity.finish().map(ActivityEvent::Ended).map(in_short);
    assert_eq!(ending.as_deref(), Some("1.3s"));
    assert!(!activity.is_open() && activity.finish().is_none());
}

// HM-2
#[test]
fn what_is_too_short_or_too_quiet_is_ignored_with_a_reason() {
    let heard = |sounds: &[Vec<i16>]| notice(&mut told(), sounds);
    // A click does not even begin.
    assert!(heard(&[silence(1.0), hum(0.01, 0.3), silence(3.0)]).is_empty());
    assert_eq!(
        heard(&[silence(1.0), hum(0.16, 0.3), silence(3.0)]),
        ["onset", "too short: 0.18s of speech, at least 0.26s are meant for us"]
    );
    assert_eq!(
        heard(&[silence(1.0), hum(1.0, 0.001), silence(3.0)]),
        ["onset", "speech", "too quiet: -63 dB, at least -50 dB are meant for us"]
    );
    // Both limits are settings.
    let config = Config {
        min_speech: HumanDuration(Duration::from_millis(100)),
        min_level: -70.0,
        silence: HumanDuration(Duration::from_millis(500)),
        ..Config::default()
    };
    let mut activity = Activity::with(&config, Box::new(Loud));
    let noticed = notice(&mut activity, &[silence(1.0), hum(0.2, 0.001), silence(3.0)]);
    assert_eq!(noticed, ["onset", "speech", "1.0s"]);
}

// HM-2
#[test]
fn the_beginning_is_what_came_right_before() {
    let mut activity = told();
    // Too quiet to be heard, but it can be told apart.
    let before: Vec<i16> = (0..16_000).map(|place| if place % 2 == 0 { 1 } else { -1 }).collect();
    let clip = [before, hum(1.0, 0.3), silence(2.0)].concat();
    let ended = clip.chunks_exact(FRAME).find_map(|frame| match activity.push(frame) {
        Some(ActivityEvent::Ended(SpeechEnd::Utterance(clip))) => Some(clip),
        _ => None,
    });
    let clip = ended.unwrap();
    let quiet = clip.samples.iter().take_while(|sample| sample.abs() == 1).count();
    // 300 ms, in whole frames; the tone may begin in the middle of one.
    assert!((4_600..5_200).contains(&quiet), "{quiet}");
    // Before the very beginning there is silence.
    let mut activity = told();
    let sound = [hum(1.0, 0.3), silence(2.0)].concat();
    let clip = sound.chunks_exact(FRAME).find_map(|frame| match activity.push(frame) {
        Some(ActivityEvent::Ended(SpeechEnd::Utterance(clip))) => Some(clip),
        _ => None,
    });
    assert!(clip.unwrap().samples[..4_800].iter().all(|sample| *sample == 0));
}
