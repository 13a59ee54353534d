//! Stands before a gateway and keeps what passes, so that every secret that occurred is known afterwards.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// What passed, each connection and direction by itself.
type Traffic = Arc<Mutex<Vec<Vec<u8>>>>;

/// Passes connections on to a gateway and keeps what was said.
pub(super) struct TrafficRecorder {
    /// Without `http://`.
    pub(super) address: String,
    traffic: Traffic,
}

impl TrafficRecorder {
    /// Listens before the gateway at this address as long as the test runs.
    pub(super) fn before(gateway: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (gateway, traffic) = (gateway.to_owned(), Traffic::default());
        let recorded = traffic.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // One that has been told to stop accepts nothing.
                let Ok(server) = TcpStream::connect(&gateway) else { continue };
                pass(&client, &server, &recorded);
                pass(&server, &client, &recorded);
            }
        });
        Self { address, traffic }
    }

    /// Every token, code, verifier and cookie that has passed.
    pub(super) fn secrets(&self) -> BTreeSet<String> {
        let traffic = self.traffic.lock().unwrap();
        traffic.iter().flat_map(|said| secrets_in(&String::from_utf8_lossy(said))).collect()
    }
}

fn pass(from: &TcpStream, to: &TcpStream, traffic: &Traffic) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    let traffic = traffic.clone();
    let mut all = traffic.lock().unwrap();
    let number = all.len();
    all.push(Vec::new());
    drop(all);
    thread::spawn(move || {
        let mut piece = [0; 8192];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            // Before anybody can have seen it.
            traffic.lock().unwrap()[number].extend(&piece[..count]);
            if to.write_all(&piece[..count]).is_err() {
                break;
            }
        }
        _ = to.shutdown(Shutdown::Write);
    });
}

/// What begins as our secrets do, and the values of the fields that have others.
fn secrets_in(said: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    let words = said.split(|c: char| !is_part(c)).filter(|word| word.starts_with("sb_"));
    let fields = ["code_verifier=", "switchboard_"].into_iter().flat_map(|name| {
        let values = said.split(name).skip(1);
        // The name of a cookie goes on with that of the instance.
        values.filter_map(move |rest| match name.ends_with('=') {
            true => rest.split(|c: char| !is_part(c)).next(),
            false => rest.split_once('=')?.1.split(|c: char| !is_part(c)).next(),
        })
    });
    // A shorter one is what a page says of them.
    words.chain(fields).filter(|secret| secret.len() > 20).map(str::to_owned).collect()
}
