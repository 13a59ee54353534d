//! The name of the server in the first message of a TLS connection.

/// The first byte of a record that is part of a handshake.
pub(super) const HANDSHAKE: u8 = 22;

/// What is known of a first message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// More of it is needed.
    Incomplete,
    /// It is whole, and names this server, or none.
    Name(Option<String>),
    /// It is no `ClientHello`.
    Invalid,
}

/// Returns the server that a `ClientHello` names.
pub(super) fn server_name(records: &[u8]) -> Hello {
    let mut message = Vec::new();
    let mut rest = records;
    loop {
        match hello(&message) {
            Some(Ok(hello)) => return name(hello).map_or(Hello::Invalid, Hello::Name),
            Some(Err(())) => return Hello::Invalid,
            None => {}
        }
        let Some((head, body)) = rest.split_at_checked(5) else { return Hello::Incomplete };
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if head[0] != HANDSHAKE || length == 0 {
            return Hello::Invalid;
        }
        let Some((fragment, next)) = body.split_at_checked(length) else {
            return Hello::Incomplete;
        };
        message.extend_from_slice(fragment);
        rest = next;
    }
}

/// The body of a `ClientHello`, if it is whole.
fn hello(message: &[u8]) -> Option<Result<&[u8], ()>> {
    const CLIENT_HELLO: u8 = 1;
    let (head, body) = message.split_at_checked(4)?;
    let length = usize::from(head[1]) << 16 | usize::from(head[2]) << 8 | usize::from(head[3]);
    if head[0] != CLIENT_HELLO {
        return Some(Err(()));
    }
    body.get(..length).map(Ok)
}

/// Reads fields one after the other.
struct FieldReader<'a>(&'a [u8]);

impl<'a> FieldReader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(field)
    }

    /// A field whose length precedes it, in so many bytes.
    fn counted(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let length =
            self.take(bytes)?.iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
        self.take(length)
    }
}

/// The name in the `server_name` extension; `None` if the message is malformed.
fn name(hello: &[u8]) -> Option<Option<String>> {
    let mut fields = FieldReader(hello);
    // The version and the random.
    fields.take(34)?;
    // The session, the ciphers and the compressions.
    fields.counted(1)?;
    fields.counted(2)?;
    fields.counted(1)?;
    if fields.0.is_empty() {
        return Some(None);
    }
    let mut extensions = FieldReader(fields.counted(2)?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.take(2)?;
        let data = extensions.counted(2)?;
        if kind == [0, 0] {
            let mut names = FieldReader(FieldReader(data).counted(2)?);
            // 0 is the name of a host.
            let is_host = names.take(1)? == [0];
            let name = String::from_utf8(names.counted(2)?.to_vec()).ok()?;
            // Two names, or two extensions, would leave it open which of them counts.
            if !is_host || !names.0.is_empty() || found.replace(name).is_some() {
                return None;
            }
        }
    }
    Some(found)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn counted(bytes: usize, data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[4 - bytes..], data].concat()
    }

    /// A first message, in two records.
    pub(in crate::proxy) fn client_hello(name: Option<&str>) -> Vec<u8> {
        let name = name.map(|name| {
            let entry = [&[0][..], &counted(2, name.as_bytes())].concat();
            [&[0, 0][..], &counted(2, &counted(2, &entry))].concat()
        });
        let other = [&[0, 43][..], &counted(2, &[2, 3, 4])].concat();
        let extensions = counted(2, &[other, name.unwrap_or_default()].concat());
        let hello = [
            &[3, 3][..],
            &[7; 32],
            &counted(1, &[1; 32]),
            &counted(2, &[0x13, 1]),
            &counted(1, &[0]),
            &extensions,
        ]
        .concat();
        let message = [&[1][..], &counted(3, &hello)].concat();
        let record = |part: &[u8]| [&[HANDSHAKE, 3, 1][..], &counted(2, part)].concat();
        [record(&message[..20]), record(&message[20..])].concat()
    }

    // SB-1
    #[test]
    fn a_server_is_named_across_records() {
        let hello = client_hello(Some("a.example"));
        assert_eq!(server_name(&hello), Hello::Name(Some("a.example".to_owned())));
        for length in 1..hello.len() {
            assert_eq!(server_name(&hello[..length]), Hello::Incomplete, "{length}");
        }
        assert_eq!(server_name(&client_hello(None)), Hello::Name(None));
        assert_eq!(server_name(&[22, 3, 1, 0, 4, 2, 0, 0, 0]), Hello::Invalid);
        assert_eq!(server_name(&[22, 3, 1, 0, 6, 1, 0, 0, 2, 9, 9]), Hello::Invalid);
    }
}
