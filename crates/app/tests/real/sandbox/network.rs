//! What a sandbox lets real programs connect to (SB-1).

use std::{fs, path::PathBuf, process::Command, thread};

use serde_json::json;

use super::{call, in_place, node, place, prepare_repository, python, section};

/// Serves the files of a folder; returns the port.
pub(super) fn serve_files(folder: PathBuf) -> u16 {
    use std::io::{Read, Write};
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut link in server.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let length = link.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split([' ', '?']).nth(1).unwrap_or_default();
            let (status, body) = match fs::read(folder.join(path.trim_start_matches('/'))) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = link.write_all(&[head.as_bytes(), &body].concat());
        }
    });
    port
}

// SB-1: what these programs read from their variables leads to the proxy, which knows one host and refuses another.
#[test]
fn node_curl_and_git_use_the_proxy() {
    let folder = place();
    prepare_repository(folder.path());
    let work = folder.path().join("work");
    let update = ["-C", work.to_str().unwrap(), "update-server-info"];
    assert!(Command::new("git").args(update).status().unwrap().success());
    let port = serve_files(work);
    let clones = folder.path().join("clones");
    fs::create_dir(&clones).unwrap();
    let fetch = "fetch(process.argv[1]).then(async it => { if (!it.ok) throw it.status; console.log(await it.text()) })";
    let copy = clones.join("copy").display().to_string();
    let programs = [
        ("node", node("node"), vec!["-e", fetch, "{url}"]),
        ("curl", "curl".into(), vec!["-sS", "--fail", "{url}"]),
        ("git", "git".into(), vec!["clone", "{url}", &copy]),
    ];
    let tool = |(name, program, args): &(&str, PathBuf, Vec<&str>)| {
        format!(
            "[[tools]]\nname = \"{name}_get\"\ndescription = \"Gets.\"\n\
             parameters = {{ type = \"object\", properties = {{ url = {{ type = \"string\" }} }}, required = [\"url\"] }}\n\
             implementation = {{ type = \"command\", program = {program:?}, args = {args:?} }}\n\
             sandbox = \"on\"\nsandbox_allow = {{ connect = [\"127.0.0.1:{port}\"], write = [{clones:?}] }}\n"
        )
    };
    fs::write(folder.path().join("switchboard.toml"), programs.each_ref().map(tool).concat())
        .unwrap();
    for (name, path) in [("node", "a.txt"), ("curl", "a.txt"), ("git", ".git")] {
        let tool = format!("{name}_get");
        let refused = json!({"url": format!("http://elsewhere.example/{path}")});
        let result = call(folder.path(), &tool, &refused);
        assert_eq!(result["success"], false, "{tool}: {result}");
        let hint = result["hint"].as_str().unwrap_or_default();
        let line = "sandbox_allow.connect += \"elsewhere.example:80\"";
        assert!(hint.contains(line), "{tool}: {result}");
        let allowed = json!({"url": format!("http://127.0.0.1:{port}/{path}")});
        let result = call(folder.path(), &tool, &allowed);
        assert_eq!(result["success"], true, "{tool}: {result}");
        let is_page = result["result"].to_string().contains("a note");
        assert!(is_page || clones.join("copy/a.txt").exists(), "{tool}: {result}");
    }
}

// SB-1: a port that is open to every host is said at each start.
#[test]
fn a_start_warns_of_ports_that_are_open_to_every_host() {
    let folder = place();
    let config = section(&python("mcp-server-time"), &[])
        + "sandbox = \"on\"\nsandbox_allow = { connect_direct = [443, 5432] }\n";
    fs::write(folder.path().join("switchboard.toml"), config).unwrap();
    let noon = json!({"timezone": "Asia/Tokyo"}).to_string();
    let words = ["call", "x__get_current_time", noon.as_str()];
    for _ in 0..2 {
        let said = in_place(folder.path(), &words).output().unwrap();
        let said = String::from_utf8(said.stderr).unwrap();
        let warning = "'x' may connect to port 443, 5432 of every host, and to port 53 to look up names (sandbox_allow.connect_direct)";
        assert!(said.contains(warning), "{said}");
    }
}
