//! Gives each request to the next gateway, as a balancer does that knows nothing of sessions.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Listens as long as the test runs; returns where.
pub(super) fn before(gateways: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (gateways, next) = (Arc::new(gateways), Arc::new(AtomicUsize::new(0)));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (gateways, next) = (gateways.clone(), next.clone());
            // If one side hangs up meanwhile, the other sees it.
            thread::spawn(move || _ = pass(client, &gateways, &next));
        }
    });
    address
}

/// Passes one request on, and its answer back.
fn pass(client: TcpStream, gateways: &[String], next: &AtomicUsize) -> io::Result<()> {
    let mut from_client = BufReader::new(client.try_clone()?);
    let head = head(&mut from_client)?;
    // One that is dead is passed over.
    let turn = |_| &gateways[next.fetch_add(1, Ordering::Relaxed) % gateways.len()];
    let gateway = (0..gateways.len()).map(turn).find_map(|one| TcpStream::connect(one).ok());
    let mut gateway = gateway.ok_or(io::ErrorKind::ConnectionRefused)?;
    gateway.write_all(head.as_bytes())?;
    let mut to_gateway = gateway.try_clone()?;
    let up = thread::spawn(move || {
        // A client that has no more to say may still listen.
        _ = io::copy(&mut from_client, &mut to_gateway);
    });
    let passed = copy(gateway, &client);
    _ = client.shutdown(Shutdown::Both);
    _ = up.join();
    passed
}

/// The head of a request, which asks for a connection of its own: the next request is to reach another gateway.
fn head(client: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let start = head.len();
        if client.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if head[start..].to_lowercase().starts_with("connection:") {
            head.truncate(start);
        }
    }
    head.truncate(head.len() - 2);
    head.push_str("Connection: close\r\n\r\n");
    Ok(head)
}

/// Passes on what comes, as it comes.
fn copy(mut from: TcpStream, mut to: &TcpStream) -> io::Result<()> {
    let mut piece = [0; 8192];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            count => to.write_all(&piece[..count])?,
        }
    }
}
