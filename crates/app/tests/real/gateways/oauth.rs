//! A client that only does OAuth, before several gateways: each of its requests reaches another one (SPEC AU-4).

use crate::{
    gateways::{TestCluster, bearing},
    oauth::{FOLDER, python, said, used_tools},
    serving::{part, program, wait_for},
};

// AU-4: registration, sign-in, consent, code, calls and refresh, by turns at both; then out at both.
#[test]
fn a_client_is_let_in_at_any_gateway() {
    let config = "[serve]\nrequire_token = true\n[serve.oauth]\naccess_token = '3s'\n";
    for key in ["", "key = 'a secret that all nodes of the cluster have'\n"] {
        let cluster = TestCluster::start(&format!("{key}{config}"));
        let token = cluster.token("ada", &[]);
        let mut command = program(python(), cluster.folders[0].path());
        command.env("TOKEN", &token).env("SWITCHBOARD_PARTS", part("."));
        let mcp = format!("http://{}/mcp", cluster.balancer);
        let (client, browser) = (format!("{FOLDER}/client.py"), format!("{FOLDER}/browser.py"));
        let secrets = used_tools(&said(command.args([&client, "2026-07-28", &mcp, &browser])));
        for machine in [0, 1] {
            let listed = cluster.run(machine, &["token", "list", "--json"]).to_string();
            assert!(listed.contains("oauth:python-sdk"), "{listed}");
        }
        cluster.run(1, &["token", "revoke", "oauth:python-sdk"]);
        for gateway in &cluster.gateways {
            for secret in &secrets {
                let out =
                    || (bearing(&gateway.address, "/mcp", secret).status == 401).then_some(());
                wait_for("it to be out", out);
            }
        }
        let secrets = secrets.iter().chain([&token]).map(String::as_str);
        cluster.has_none_of(&secrets.collect::<Vec<_>>());
    }
}
