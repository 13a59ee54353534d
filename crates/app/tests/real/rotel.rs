//! rotel, an OpenTelemetry collector, which prints what it receives.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
};

use crate::serving::{Ending, free_port, part, wait_for};

/// A collector that listens.
pub(crate) struct Rotel {
    _process: Ending,
    printed: PathBuf,
    port: u16,
}

/// A span as it was printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Printed {
    /// What stands in its head: `Trace ID`, `Parent ID`, `ID`, `Name`, `Kind`, `Status code`, `Status message`.
    pub(crate) head: BTreeMap<String, String>,
    /// Its attributes, as `Str(…)` and the like.
    pub(crate) attributes: BTreeMap<String, String>,
}

impl Rotel {
    pub(crate) fn start(folder: &Path) -> Self {
        Self::on(folder, free_port())
    }

    /// Starts one on this port; what it prints follows what one before it has printed in the folder.
    pub(crate) fn on(folder: &Path, port: u16) -> Self {
        // Where in the part it lies depends on the version of Python.
        let venv = part("otlp-receiver/venv/lib");
        let mut pythons = fs::read_dir(venv).unwrap().map(|entry| entry.unwrap().path());
        let agents = pythons.find_map(|python| {
            let agent = python.join("site-packages/rotel/rotel-agent");
            agent.exists().then_some(agent)
        });
        let printed = folder.join("rotel.txt");
        let other = free_port();
        let mut command = Command::new(agents.expect("the part has rotel-agent"));
        command.args(["start", "--otlp-http-endpoint", &format!("127.0.0.1:{port}")]);
        command.args(["--otlp-grpc-endpoint", &format!("127.0.0.1:{other}")]);
        command.args(["--exporter", "blackhole", "--debug-log-verbosity", "detailed"]);
        command.args(["--debug-log", "traces", "--debug-log", "metrics", "--debug-log", "logs"]);
        command.current_dir(folder).stderr(File::create(folder.join("rotel.err")).unwrap());
        let output = File::options().create(true).append(true).open(&printed).unwrap();
        let process = Ending(command.stdout(output).spawn().unwrap());
        wait_for("rotel", || TcpStream::connect(("127.0.0.1", port)).ok());
        Self { _process: process, printed, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that it has received.
    pub(crate) fn text(&self) -> String {
        fs::read_to_string(&self.printed).unwrap()
    }

    /// The body of each log record, with its id; more than one if it was received more than once.
    pub(crate) fn log_records(&self) -> BTreeMap<String, Vec<String>> {
        let (text, mut body) = (self.text(), "");
        let mut records = BTreeMap::<_, Vec<_>>::new();
        for line in text.lines().map(str::trim) {
            let value = |start: &str| line.strip_prefix(start)?.strip_suffix(')');
            if let Some(text) = value("Body: Str(") {
                body = text;
            } else if let Some(id) = value("-> log.record.uid: Str(") {
                records.entry(id.to_owned()).or_default().push(body.to_owned());
            }
        }
        records
    }

    /// The spans of a trace, once there are so many.
    pub(crate) fn spans(&self, trace: &str, count: usize) -> Vec<Printed> {
        wait_for("spans", || {
            let spans = spans(&self.text()).into_iter();
            let spans: Vec<_> = spans.filter(|span| span.get("Trace ID") == trace).collect();
            (spans.len() >= count).then_some(spans)
        })
    }

    /// All spans, once there are so many.
    pub(crate) fn all_spans(&self, count: usize) -> Vec<Printed> {
        wait_for("spans", || Some(spans(&self.text())).filter(|spans| spans.len() >= count))
    }
}

impl Printed {
    pub(crate) fn get(&self, key: &str) -> &str {
        self.head.get(key).map_or("", String::as_str)
    }

    /// A text among the attributes.
    pub(crate) fn attribute(&self, key: &str) -> &str {
        let value = self.attributes.get(key).map_or("", String::as_str);
        value.strip_prefix("Str(").and_then(|value| value.strip_suffix(')')).unwrap_or(value)
    }
}

fn spans(text: &str) -> Vec<Printed> {
    let mut spans: Vec<Printed> = Vec::new();
    let mut is_span = false;
    for line in text.lines() {
        if line.starts_with("Span #") {
            spans.push(Printed::default());
            is_span = true;
        } else if line.starts_with("Resource") {
            is_span = false;
        }
        let Some(span) = spans.last_mut().filter(|_| is_span) else { continue };
        if let Some((key, value)) =
            line.trim().strip_prefix("-> ").and_then(|it| it.split_once(": "))
        {
            span.attributes.insert(key.to_owned(), value.to_owned());
        } else if let Some((key, value)) = line.split_once(':') {
            span.head.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    spans
}
