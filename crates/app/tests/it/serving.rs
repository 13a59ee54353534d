//! A gateway in a process of its own, and plain HTTP to talk to it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::test_folder::TestFolder;

/// A gateway that listens.
pub(crate) struct Serving {
    pub(crate) child: Child,
    /// Without `http://`.
    pub(crate) address: String,
}

impl Serving {
    pub(crate) fn start(place: &TestFolder, arguments: &[&str]) -> Self {
        Self::spawn(place, place.command(&[&["serve", "--json"], arguments].concat()))
    }

    /// Runs a `serve --json` and waits until it serves.
    pub(crate) fn spawn(place: &TestFolder, mut command: Command) -> Self {
        let log = std::fs::File::create(place.path().join("log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["address"].as_str().unwrap().replace("http://", "");
        Self { child, address }
    }

    /// The status and the body of an answer.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {length}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}\r\n{body}",
            self.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::String(body.to_owned())))
    }

    /// Sends a request and leaves its answer to come.
    pub(crate) fn begin(&self, path: &str, body: &str) -> TcpStream {
        self.begin_with(path, "", body)
    }

    /// Like [`begin`](Self::begin), with more headers.
    pub(crate) fn begin_with(&self, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, length) = (&self.address, body.len());
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n");
        stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    /// Asks for what is told until the gateway ends.
    pub(crate) fn open_stream(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
