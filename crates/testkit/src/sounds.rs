//! Sounds made of numbers, 16 kHz mono: what a detector takes for speech, and what it does not.

use std::f32::consts::TAU;

const RATE: f32 = 16_000.0;

/// Something like speech: a voice that rises and falls, vowels that change, a pause between syllables.
pub fn babble(seconds: f32, loudness: f32) -> Vec<i16> {
    let vowels = [
        [730.0, 1_090.0, 2_440.0],
        [270.0, 2_290.0, 3_010.0],
        [300.0, 870.0, 2_240.0],
        [530.0, 1_840.0, 2_480.0],
    ];
    let mut filters = [[0.0_f32; 2]; 3];
    let mut phase = 0.0;
    let mut random = 1_u32;
    let samples: Vec<f32> = (0..(seconds * RATE) as usize)
        .map(|place| {
            let time = place as f32 / RATE;
            let pitch = 120.0 + 20.0 * (time * 3.0).sin() + 8.0 * (time * 11.0).sin();
            phase = (phase + pitch / RATE).fract();
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let breath = (random >> 16) as f32 / 65_536.0 - 0.5;
            let voice =
                if phase < 0.4 { (phase / 0.4 * TAU / 2.0).sin() } else { 0.0 } + 0.05 * breath;
            let vowel = vowels[(time * 5.0) as usize % vowels.len()];
            let syllable = (time * 5.0).fract();
            let envelope = (syllable * TAU / 2.0).sin().max(0.0).sqrt();
            let mut sound = 0.0;
            for (filter, formant) in filters.iter_mut().zip(vowel) {
                // A resonance of two poles.
                let radius = (-TAU / 2.0 * 90.0 / RATE).exp();
                let value = voice + 2.0 * radius * (TAU * formant / RATE).cos() * filter[0]
                    - radius * radius * filter[1];
                *filter = [value, filter[0]];
                sound += value * (1.0 - radius);
            }
            sound * envelope
        })
        .collect();
    let peak = samples.iter().fold(1e-6_f32, |peak, sample| peak.max(sample.abs()));
    samples.iter().map(|sample| (sample / peak * loudness * 32_767.0) as i16).collect()
}

/// A tone, as of a fridge.
pub fn hum(seconds: f32, loudness: f32) -> Vec<i16> {
    let sample = |place| ((place as f32 / RATE * 100.0 * TAU).sin() * loudness * 32_767.0) as i16;
    (0..(seconds * RATE) as usize).map(sample).collect()
}

/// Noise, as of rain.
pub fn noise(seconds: f32, loudness: f32) -> Vec<i16> {
    let mut random = 7_u32;
    let sample = |_| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (((random >> 16) as f32 / 32_768.0 - 1.0) * loudness * 32_767.0) as i16
    };
    (0..(seconds * RATE) as usize).map(sample).collect()
}

/// Nothing at all.
pub fn silence(seconds: f32) -> Vec<i16> {
    vec![0; (seconds * RATE) as usize]
}

/// The sound as a WAV file.
pub fn wav(samples: &[i16]) -> Vec<u8> {
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX - 36);
    let mut file = b"RIFF".to_vec();
    file.extend((length + 36).to_le_bytes());
    // PCM, one channel, 16,000 samples of two bytes a second.
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend([16_000_u32, 32_000].map(u32::to_le_bytes).concat());
    file.extend(b"\x02\0\x10\0data");
    file.extend(length.to_le_bytes());
    file.extend(bytes);
    file
}
