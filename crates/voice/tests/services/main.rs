//! The clients before real speech services: Piper, faster-whisper and openWakeWord.
