//! WAV, read and written.

use std::io::{Cursor, Read};

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};

use crate::{Clip, Error, Format, resample::Resampler};

/// Reads a WAV of any common kind as 16 kHz mono.
///
/// # Errors
/// The file is not a WAV file, or its format is not supported.
pub(crate) fn read(wav: impl Read) -> Result<Vec<i16>, hound::Error> {
    let mut reader = WavReader::new(wav)?;
    let WavSpec { channels, sample_rate, bits_per_sample, sample_format } = reader.spec();
    let format = Format { rate: sample_rate, channels };
    // Speech is not recorded at other rates; resampling them could take hours.
    if channels == 0 || !(1_000..=768_000).contains(&sample_rate) {
        return Err(hound::Error::Unsupported);
    }
    let samples: Vec<i16> = match (sample_format, bits_per_sample) {
        (SampleFormat::Int, 16) => reader.samples::<i16>().collect::<Result<_, _>>()?,
        (SampleFormat::Int, bits) => {
            let reduce = |sample: i32| match bits {
                8 => sample << 8,
                bits => sample >> (u32::from(bits) - 16),
            };
            let samples = reader.samples::<i32>();
            samples.map(|sample| sample.map(|it| reduce(it) as i16)).collect::<Result<_, _>>()?
        }
        (SampleFormat::Float, _) => {
            let scale = |sample: f32| (sample * 32_767.0).clamp(-32_768.0, 32_767.0) as i16;
            reader.samples::<f32>().map(|it| it.map(scale)).collect::<Result<_, _>>()?
        }
    };
    let mut resampler = Resampler::new(format);
    let mut speech = resampler.push(&samples);
    speech.extend(resampler.finish());
    Ok(speech)
}

/// Returns the WAV header of a format.
pub(crate) fn spec(format: Format) -> WavSpec {
    let Format { rate, channels } = format;
    WavSpec { channels, sample_rate: rate, bits_per_sample: 16, sample_format: SampleFormat::Int }
}

/// Encodes the clip as a WAV.
///
/// # Errors
/// The sound is too long for a WAV file.
pub(crate) fn written(clip: &Clip) -> Result<Vec<u8>, Error> {
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = WavWriter::new(&mut bytes, spec(clip.format))?;
    for sample in &clip.samples {
        writer.write_sample(*sample)?;
    }
    writer.finalize()?;
    Ok(bytes.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-2
    #[test]
    fn every_common_kind_is_read() {
        for (bits, sample_format) in [
            (8, SampleFormat::Int),
            (16, SampleFormat::Int),
            (24, SampleFormat::Int),
            (32, SampleFormat::Int),
            (32, SampleFormat::Float),
        ] {
            let spec =
                WavSpec { channels: 1, sample_rate: 16_000, bits_per_sample: bits, sample_format };
            let mut bytes = Cursor::new(Vec::new());
            let mut writer = WavWriter::new(&mut bytes, spec).unwrap();
            for _ in 0..100 {
                match sample_format {
                    // A quarter of full scale.
                    SampleFormat::Int => writer.write_sample(1_i32 << (bits - 3)).unwrap(),
                    SampleFormat::Float => writer.write_sample(0.25_f32).unwrap(),
                }
            }
            writer.finalize().unwrap();
            let read = read(bytes.get_ref().as_slice()).unwrap();
            assert_eq!(read.len(), 100);
            assert!(read.iter().all(|sample| sample.abs_diff(8_192) < 4), "{bits}: {}", read[0]);
        }
    }

    // HM-2
    #[test]
    fn what_is_written_can_be_read_and_what_is_no_wav_cannot() {
        let clip = Clip { format: Format::SPEECH, samples: vec![1, -2, 300] };
        assert_eq!(read(written(&clip).unwrap().as_slice()).unwrap(), clip.samples);
        for wrong in [&b""[..], b"RIFF", b"ID3 an mp3", &written(&clip).unwrap()[..46]] {
            assert!(read(wrong).is_err());
        }
    }
}
