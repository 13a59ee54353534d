//! The parts that the examples take for granted, at the addresses that the pages name.

use std::{
    any::Any,
    collections::BTreeMap,
    env, fs, net,
    path::PathBuf,
    process::{Child, Command},
    thread,
    time::Duration,
};

use serde_json::json;
use switchboard_testkit::{
    Mosquitto, Nats, OllamaModel, OllamaServer, Process, SimulatedDevices, SimulatedZwave,
    SpeechService, ZwaveTransport,
};
use tokio::runtime::Runtime;

use crate::{provider, shell::Shell, sound};

/// What runs, by name, until the page ends.
#[derive(Default)]
pub(crate) struct Setups(BTreeMap<String, Box<dyn Any>>);

/// Returns the path of an installed part.
pub(crate) fn part(path: &str) -> PathBuf {
    let parts =
        env::var_os("SWITCHBOARD_PARTS").expect("SWITCHBOARD_PARTS: where parts are installed");
    PathBuf::from(parts).join(path)
}

impl Setups {
    /// Starts the part of this name, unless it runs.
    pub(crate) fn start(&mut self, name: &str, shell: &Shell) {
        if self.0.contains_key(name) {
            return;
        }
        let started: Box<dyn Any> = match name {
            "broker" => Box::new(broker(shell)),
            "home-assistant" => Box::new(home_assistant()),
            "household" => Box::new(household(shell)),
            "nats" => Box::new(nats(shell)),
            "ollama" => Box::new((ollama(), provider::serve(8080))),
            "searxng" => Box::new(provider::serve(8888)),
            "sound" => Box::new(sound_server()),
            "speech" => Box::new(speech(shell)),
            _ => unreachable!("notes.rs knows the names"),
        };
        self.0.insert(name.to_owned(), started);
    }
}

/// A broker that stays who it is: in a namespace there is no other user.
fn broker(shell: &Shell) -> Mosquitto {
    let config = shell.bin().join("mosquitto.conf");
    fs::write(&config, "listener 1883\nallow_anonymous true\nuser root\n").unwrap();
    Mosquitto::configured(1883, &config)
}

/// Simulated devices behind the broker, one of them the kitchen light.
fn household(shell: &Shell) -> SimulatedZwave {
    let cache = shell.work().join("zwave-cache");
    let broker = Some(broker(shell));
    let household = SimulatedZwave::around(
        &part(""),
        ZwaveTransport::Mqtt,
        &cache,
        broker,
        SimulatedDevices::default(),
    );
    household.name(2, "Kitchen Light", "Kitchen");
    household
}

/// An Ollama where it is looked for, with the models of the pages. Lives as long as the runtime.
fn ollama() -> (Runtime, OllamaServer) {
    let runtime = Runtime::new().unwrap();
    let models = ["qwen3:0.6b", "qwen3:4b"].map(|name| {
        let model = OllamaModel::new(name, &["completion", "tools"]);
        let kitchen = json!({"deviceName": "Kitchen Light", "action": "on"});
        let model = model.calling("kitchen light", "zwave__control_zwave_device", kitchen);
        model.calling(
            "living room lamp",
            "ha__intent__HassTurnOn",
            json!({"name": "Living Room Lamp"}),
        )
    });
    let server = runtime.block_on(OllamaServer::start(models));
    forward(11434, server.url().trim_start_matches("http://").to_owned());
    (runtime, server)
}

/// Home Assistant's MCP server, for a user whose token is `eyJhbGciOi`.
fn home_assistant() -> Process {
    let mut python = Command::new(part("mcp-python/venv/bin/python"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/home_assistant.py");
    python.args([script, "8123", "eyJhbGciOi"]);
    Process::saying(python, "ready")
}

fn nats(shell: &Shell) -> Nats {
    let folder = shell.bin();
    let (config, store) = (folder.join("nats.conf"), folder.join("nats"));
    let text = format!("listen: 127.0.0.1:4222\njetstream {{ store_dir: {:?} }}\n", store);
    fs::write(&config, text).unwrap();
    Nats::configured(&part(""), &config, 4222)
}

/// A sound server without a card, where those of a desktop are.
fn sound_server() -> Child {
    let folder = "/run/user/1000";
    fs::create_dir_all(folder).unwrap();
    let mut pulseaudio = Command::new("pulseaudio");
    let quiet = ["-n", "--daemonize=no", "--exit-idle-time=-1", "--log-level=error"];
    pulseaudio.args(quiet).args(["--use-pid-file=no", "--disable-shm=true"]);
    pulseaudio
        .args(["--load=module-null-sink", "--load=module-native-protocol-unix auth-anonymous=1"]);
    let server =
        pulseaudio.env("XDG_RUNTIME_DIR", folder).spawn().expect("pulseaudio is installed");
    let mut attempts = 0..100;
    let answers = attempts.any(|_| {
        thread::sleep(Duration::from_millis(100));
        let mut pactl = Command::new("pactl");
        pactl.args(["set-sink-volume", "@DEFAULT_SINK@", "80%"]).env("XDG_RUNTIME_DIR", folder);
        pactl.output().expect("pactl is installed").status.success()
    });
    assert!(answers, "pulseaudio does not answer");
    server
}

/// Whisper, Piper and openWakeWord at the ports that Home Assistant gives them, and a spoken question.
fn speech(shell: &Shell) -> [SpeechService; 3] {
    let parts = part("");
    let services = [
        SpeechService::whisper(&parts),
        SpeechService::piper(&parts),
        SpeechService::open_wake_word(&parts),
    ];
    for (service, port) in services.iter().zip([10300, 10200, 10400]) {
        forward(port, service.url().trim_start_matches("tcp://").to_owned());
    }
    let runtime = Runtime::new().unwrap();
    let question = runtime.block_on(sound::spoken(&services[1], "Is the kitchen window open?"));
    sound::write(&shell.work().join("question.wav"), &question);
    services
}

/// Passes connections on to another address of this machine.
fn forward(port: u16, address: String) {
    let listener = net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = net::TcpStream::connect(&address) else { continue };
            let (from_server, to_client) =
                (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || copy(client, server));
            thread::spawn(move || copy(from_server, to_client));
        }
    });
}

fn copy(mut from: net::TcpStream, mut to: net::TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(net::Shutdown::Write);
}
