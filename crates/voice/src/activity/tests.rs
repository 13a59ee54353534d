//! Speech made of numbers, before the real detector and before one that does as it is told.

use super::*;
use crate::synthetic::{babble, hum, noise, silence};

/// What was noticed of a sound, in short: `onset`, `speech`, `1.5s`, or why it was ignored.
fn notice(activity: &mut Activity, sound: &[i16]) -> Vec<String> {
    let noticed = sound.chunks_exact(FRAME).filter_map(|frame| activity.push(frame));
    noticed.map(in_short).collect()
}

fn in_short(noticed: Noticed) -> String {
    match noticed {
        Noticed::Onset => "onset".to_owned(),
        Noticed::Speech => "speech".to_owned(),
        Noticed::Ended(Ending::Utterance(clip)) => {
            format!("{:.1}s", clip.duration().as_secs_f32())
        }
        Noticed::Ended(Ending::Ignored(reason)) => reason,
    }
}

#[test]
fn probe() {
    for sound in
        [babble(2.0, 0.3), hum(2.0, 0.3), noise(2.0, 0.1), silence(1.0), babble(2.0, 0.002)]
    {
        let mut detector = earshot::Detector::default_boxed();
        let scores: Vec<f32> =
            sound.chunks_exact(FRAME).map(|frame| detector.score(frame)).collect();
        let mean = scores.iter().sum::<f32>() / scores.len() as f32;
        println!(
            "{mean:.2} {:?}",
            &scores[..40].iter().map(|s| (s * 100.0) as i32).collect::<Vec<_>>()
        );
    }
    let mut activity = Activity::new(&Config::default());
    println!(
        "{:?}",
        notice(&mut activity, &[silence(1.0), babble(2.0, 0.3), silence(2.0)].concat())
    );
}
