use std::{error::Error, time::Duration};

use serde_json::{Value, json};
use switchboard_models::Secret;
use switchboard_toolcall::HumanDuration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use super::wav::WavReader;
use crate::{Clip, Format, SpeechConfig, SpeechError, recogniser, synthesiser, wav};

/// A server of one request: reads it to its end, then sends the bytes and closes, or never does.
async fn serve(answer: Vec<u8>, closes: bool) -> (SpeechConfig, JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = SpeechConfig::new(format!("http://{}/v1/", listener.local_addr().unwrap()));
    let request = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let (head, body) = loop {
            stream.read_buf(&mut bytes).await.unwrap();
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
            if bytes.len() == end + 4 + length.parse::<usize>().unwrap() {
                break (head, bytes[end + 4..].to_vec());
            }
        };
        // The caller may have left in the middle.
        let _ = stream.write_all(&answer).await;
        if !closes {
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
        (head, body)
    });
    (config, request)
}

fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn clip() -> Clip {
    Clip { format: Format::SPEECH, samples: vec![1, -1, 300] }
}

async fn transcribed(config: &SpeechConfig) -> Result<String, SpeechError> {
    recogniser(config).unwrap().transcribe(&clip()).await
}

async fn spoken(config: &SpeechConfig) -> Result<Vec<Clip>, String> {
    let speech = synthesiser(config).unwrap().speak("It is on.").await;
    let mut speech = speech.map_err(|error| error.to_string())?;
    let mut clips = Vec::new();
    while let Some(clip) = speech.recv().await {
        clips.push(clip.map_err(|error| error.to_string())?);
    }
    Ok(clips)
}

// HM-2
#[tokio::test]
async fn speech_goes_out_as_a_form_and_comes_back_as_text() {
    let body =
        br#"{"text":" Turn on the kitchen light. ","usage":{"type":"duration","seconds":2}}"#;
    let (mut config, request) = serve(answer("200 OK", "application/json", body), true).await;
    config.language = Some("en".to_owned());
    config.api_key = Some(Secret::new("sk-secret"));
    assert_eq!(transcribed(&config).await.unwrap(), "Turn on the kitchen light.");

    let (head, body) = request.await.unwrap();
    assert!(head.starts_with("post /v1/audio/transcriptions http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer sk-secret"), "{head}");
    let boundary = head.split("multipart/form-data; boundary=").nth(1).unwrap().lines().next();
    let body = String::from_utf8_lossy(&body).to_lowercase();
    let parts: Vec<&str> = body.split(&format!("--{}", boundary.unwrap())).collect();
    assert_eq!((parts.len(), parts[0], parts[5]), (6, "", "--\r\n"));
    let file = "\r\ncontent-disposition: form-data; name=\"file\"; filename=\"speech.wav\"\r\ncontent-type: audio/wav\r\n\r\nriff";
    assert!(parts[1].starts_with(file), "{}", parts[1]);
    for (part, name, value) in
        [(2, "model", "whisper-1"), (3, "response_format", "json"), (4, "language", "en")]
    {
        let field =
            format!("\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        assert_eq!(parts[part], field);
    }
}

// HM-2
#[tokio::test]
async fn a_text_goes_out_and_comes_back_as_sound() {
    let file = wav::written(&clip()).unwrap();
    let (mut config, request) = serve(answer("200 OK", "audio/wav", &file), true).await;
    config.voice = Some("nova".to_owned());
    let clips = spoken(&config).await.unwrap();
    assert!(clips.iter().all(|part| part.format == Format::SPEECH));
    let samples: Vec<i16> = clips.into_iter().flat_map(|clip| clip.samples).collect();
    assert_eq!(samples, clip().samples);

    let (head, body) = request.await.unwrap();
    assert!(head.starts_with("post /v1/audio/speech http/1.1"), "{head}");
    assert!(!head.contains("authorization"), "{head}");
    let expected =
        json!({"model": "tts-1", "voice": "nova", "input": "It is on.", "response_format": "wav"});
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
}

// HM-2
#[tokio::test]
async fn refusals_are_told_without_the_key() {
    let cases = [
        (
            "401 Unauthorized",
            r#"{"error":{"message":"Incorrect API key provided: sk-secret."}}"#,
            "answered 401: Incorrect API key provided: ….",
        ),
        (
            "404 Not Found",
            r#"{"detail":"Model 'whisper-1' is not installed locally."}"#,
            "answered 404: Model 'whisper-1' is not installed locally.",
        ),
        ("500 Oh", "<html>", "answered 500: <html>"),
        ("302 Found", "", "answered 302"),
        ("200 OK", "<html>", "answered without a `text`"),
        ("200 OK", r#"{"text":null}"#, "answered without a `text`"),
    ];
    for (status, body, reason) in cases {
        let (mut config, _) = serve(answer(status, "text/plain", body.as_bytes()), true).await;
        config.api_key = Some(Secret::new("sk-secret"));
        let error = transcribed(&config).await.unwrap_err();
        let name = format!("OpenAI-compatible {}", config.url.trim_end_matches('/'));
        assert_eq!(error.to_string(), format!("{name} {reason}"));
    }
    let (config, _) = serve(answer("200 OK", "text/plain", &[b'x'; 2 << 20]), true).await;
    let error = transcribed(&config).await.unwrap_err().to_string();
    assert!(error.ends_with("sent more than 1048576 bytes"), "{error}");

    let nobody = SpeechConfig::new("http://127.0.0.1:1/v1");
    let error = transcribed(&nobody).await.unwrap_err();
    assert_eq!(error.to_string(), "OpenAI-compatible http://127.0.0.1:1/v1 could not be reached");
    assert!(error.source().is_some());
}

// HM-2
#[tokio::test]
async fn silence_has_an_end() {
    let begun = answer("200 OK", "audio/wav", &wav::written(&clip()).unwrap()[..44]);
    for sent in [Vec::new(), begun] {
        let (mut config, _request) = serve(sent, false).await;
        config.timeout = Some(HumanDuration(Duration::from_millis(200)));
        let error = spoken(&config).await.unwrap_err();
        assert!(error.ends_with("did not answer within 0.2 s"), "{error}");
    }
}

// HM-2
#[tokio::test]
async fn what_is_no_wav_file_is_refused() {
    let file = wav::written(&clip()).unwrap();
    let changed = |at: usize, byte: u8| {
        let mut file = file.clone();
        file[at] = byte;
        file
    };
    let cases = [
        (
            b"ID3\x04 an MP3 file, whatever was asked for".to_vec(),
            "answered with something that is not a WAV file",
        ),
        (changed(20, 3), "sent a WAV file of kind 3"),
        (changed(34, 24), "24 bits"),
        (changed(22, 0), "0 channels"),
        (changed(12, b'x'), "sent samples before it said what they are"),
        (changed(18, 255), "too far from its beginning"),
        (file[..20].to_vec(), "ended its answer before any sound"),
        (Vec::new(), "ended its answer before any sound"),
    ];
    for (body, reason) in cases {
        let (config, _) = serve(answer("200 OK", "audio/wav", &body), true).await;
        let error = spoken(&config).await.unwrap_err();
        assert!(error.contains(reason), "{error} is not {reason}");
    }
}

#[test]
fn a_file_reads_the_same_in_whatever_pieces_it_comes() {
    let stereo = Clip { format: Format { rate: 24_000, channels: 2 }, samples: vec![1, 2, 3, -4] };
    let mut file = wav::written(&stereo).unwrap();
    // Titles stand before the samples and after; who streams does not know the length.
    let list = b"LIST\x05\0\0\0title\0";
    file.splice(36..36, list.iter().copied());
    let known = [file.as_slice(), b"LIST\x04\0\0\0name"].concat();
    let length = 36 + list.len() + 4;
    for unknown in [[0; 4], [255; 4]] {
        file.splice(length..length + 4, unknown);
        for file in [&file, &known] {
            for size in 1..=file.len() {
                let mut reader = WavReader::default();
                let mut samples = Vec::new();
                for piece in file.chunks(size) {
                    let clip = reader.read(piece).unwrap();
                    samples.extend(clip.into_iter().flat_map(|clip| clip.samples));
                }
                assert!(reader.end().unwrap().is_none());
                assert_eq!(samples, stereo.samples, "in pieces of {size}");
            }
        }
    }
}
