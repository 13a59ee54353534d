//! The microphone through cpal, without a recording program.

use std::{sync, thread};

use cpal::{
    Device, Sample, SampleFormat, SizedSample, Stream,
    traits::{DeviceTrait, HostTrait, StreamTrait},
};
use switchboard_toolcall::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::EndReason;
use crate::{Blocks, Error, Format, resample::Resampler};

/// How many blocks may wait for the reader.
const WAITING: usize = 256;

/// A block in the card's format, or why it ended.
type RecordedBlock = Result<Vec<i16>, String>;

/// A recording sound card; closed when dropped.
pub(super) struct SoundCard {
    heard: mpsc::Receiver<RecordedBlock>,
    resampler: Resampler,
    ending: EndReason,
    _open: sync::mpsc::Sender<()>,
}

impl SoundCard {
    /// Opens the device of this name, or the usual one.
    pub(super) async fn open(device: Option<String>, ending: EndReason) -> Result<Self, Error> {
        let failed = |reason: String| Error::device("the microphone", reason);
        let (sender, heard) = mpsc::channel(WAITING);
        let (opened, told) = oneshot::channel();
        let (open, closed) = sync::mpsc::channel::<()>();
        // A stream stays in the thread that opened it.
        let record = move || match start(device.as_deref(), &sender) {
            Ok((stream, format)) => {
                let _ = opened.send(Ok(format));
                // Ends when the other end is dropped; nothing is ever sent.
                let _ = closed.recv();
                drop(stream);
            }
            Err(reason) => _ = opened.send(Err(reason)),
        };
        let thread = thread::Builder::new().name("microphone".to_owned()).spawn(record);
        thread.map_err(|error| failed(error.to_string()))?;
        let format = told.await.map_err(|_| failed("its thread ended".to_owned()))?;
        let resampler = Resampler::new(format.map_err(failed)?);
        Ok(Self { heard, resampler, ending, _open: open })
    }
}

impl Blocks for SoundCard {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>> {
        Box::pin(async {
            match self.heard.recv().await? {
                Ok(samples) => Some(self.resampler.push(&samples)),
                Err(reason) => {
                    self.ending.is(Error::device("the microphone", reason).to_string());
                    None
                }
            }
        })
    }
}

fn start(
    name: Option<&str>,
    sender: &mpsc::Sender<RecordedBlock>,
) -> Result<(Stream, Format), String> {
    let device = find(name)?;
    let config = device.default_input_config().map_err(|error| error.to_string())?;
    let format = Format { rate: config.sample_rate(), channels: config.channels() };
    let stream = match config.sample_format() {
        SampleFormat::I16 => stream::<i16>(&device, config.into(), sender),
        SampleFormat::I32 => stream::<i32>(&device, config.into(), sender),
        SampleFormat::F32 => stream::<f32>(&device, config.into(), sender),
        SampleFormat::U8 => stream::<u8>(&device, config.into(), sender),
        other => return Err(format!("its samples are {other}, which is not understood")),
    };
    let stream = stream.map_err(|error| error.to_string())?;
    stream.play().map_err(|error| error.to_string())?;
    Ok((stream, format))
}

fn find(name: Option<&str>) -> Result<Device, String> {
    let host = cpal::default_host();
    let Some(name) = name else {
        return host
            .default_input_device()
            .ok_or_else(|| "this machine has no microphone".to_owned());
    };
    let is_it = |device: &Device| {
        device.id().is_ok_and(|id| id.to_string().ends_with(name))
            || device.description().is_ok_and(|description| description.name() == name)
    };
    let mut devices = host.input_devices().map_err(|error| error.to_string())?;
    devices.find(is_it).ok_or_else(|| format!("no microphone is called '{name}'"))
}

fn stream<T>(
    device: &Device,
    config: cpal::StreamConfig,
    sender: &mpsc::Sender<RecordedBlock>,
) -> Result<Stream, cpal::Error>
where
    T: SizedSample,
    i16: cpal::FromSample<T>,
{
    let (heard, broken) = (sender.clone(), sender.clone());
    // If the reader is too slow, sound is lost: the card does not wait.
    let hear = move |samples: &[T], _: &_| {
        let samples = samples.iter().map(|sample| i16::from_sample(*sample)).collect();
        let _ = heard.try_send(Ok(samples));
    };
    let complain = move |error: cpal::Error| match error.kind() {
        cpal::ErrorKind::DeviceChanged
        | cpal::ErrorKind::Xrun
        | cpal::ErrorKind::RealtimeDenied => {
            tracing::debug!(%error, "the microphone stumbled");
        }
        _ => _ = broken.try_send(Err(error.to_string())),
    };
    device.build_input_stream(config, hear, complain, None)
}
