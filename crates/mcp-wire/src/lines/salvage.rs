//! Finds the messages in a line, and in whatever a server has glued to them.

use crate::message::{IncomingMessage, NotJsonRpc, parse, parse_prefix};

/// How many bytes may be read in vain for one line, as long as that leaves a few attempts.
const BUDGET: usize = 8 * 1024 * 1024;

/// Hands on the messages in a line: one, as it should be, several of a batch, or those between garbage.
///
/// Requests of the server's are taken from clean lines and batches only: text that quotes one (a log line that shows
/// what came in) must not make us answer it.
///
/// # Errors
/// Not all of the line was messages. What could be found was handed on nevertheless.
pub fn messages(line: &[u8], mut take: impl FnMut(IncomingMessage)) -> Result<(), NotJsonRpc> {
    let line = line.trim_ascii();
    match line.first() {
        None => Ok(()),
        Some(b'{') => match parse(line) {
            Ok(message) => {
                take(message);
                Ok(())
            }
            Err(error) => {
                search(line, take);
                Err(error)
            }
        },
        Some(_) if search(line, take) => Ok(()),
        Some(_) => Err(NotJsonRpc("not a JSON object".to_owned())),
    }
}

/// The request of ours that a line answers in bytes that are not UTF-8.
///
/// Such an answer cannot be used, but neither need anybody wait for it.
pub fn unreadable_answer(line: &[u8]) -> Option<u64> {
    let Err(_) = std::str::from_utf8(line) else { return None };
    match parse(String::from_utf8_lossy(line).trim().as_bytes()) {
        Ok(IncomingMessage::Response { id, .. }) => id,
        _ => None,
    }
}

/// Takes what messages there are; returns whether they are a batch and nothing else.
fn search(line: &[u8], mut take: impl FnMut(IncomingMessage)) -> bool {
    // A line full of beginnings costs a few times its length, not its square.
    let mut attempts = (BUDGET / line.len()).clamp(4, 64);
    let mut clean = line.starts_with(b"[") && line.ends_with(b"]");
    let (mut end, mut position, mut found) = (0, 0, false);
    while let Some(start) = beginning(line, position).filter(|_| attempts > 0) {
        let Ok((message, length)) = parse_prefix(&line[start..]) else {
            attempts -= 1;
            position = start + 1;
            continue;
        };
        clean &= between_messages(&line[end..start]);
        found = true;
        end = start + length;
        position = end;
        if clean || !matches!(message, IncomingMessage::Request { .. }) {
            take(message);
        }
    }
    found && clean && between_messages(&line[end..])
}

fn between_messages(gap: &[u8]) -> bool {
    gap.iter().all(|byte| b"[,] \t\r".contains(byte))
}

/// Where the next object starts that begins as a message does.
fn beginning(line: &[u8], position: usize) -> Option<usize> {
    const KEYS: [&[u8]; 6] =
        [b"jsonrpc\"", b"id\"", b"result\"", b"method\"", b"error\"", b"params\""];
    let mut from = position;
    loop {
        let start = from + line.get(from..)?.iter().position(|byte| *byte == b'{')?;
        let key = line[start + 1..].trim_ascii_start().strip_prefix(b"\"");
        if key.is_some_and(|key| KEYS.iter().any(|known| key.starts_with(known))) {
            return Some(start);
        }
        from = start + 1;
    }
}
