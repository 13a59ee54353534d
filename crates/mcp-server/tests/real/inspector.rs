//! The inspector's command line.

use serde_json::Value;

use crate::gateway::{Listening, command, node, part, run};

// GW-1
#[test]
fn the_inspector() {
    for upstream in ["legacy", "modern"] {
        let gateway = Listening::before(upstream);
        for era in ["legacy", "auto", "modern"] {
            for target in [vec![gateway.url.clone()], command(upstream)] {
                let ask = |method: &[&str]| -> Value {
                    let mut args = vec![part("mcp-clients/node_modules/.bin/mcp-inspector")];
                    args.extend(["--cli", "--protocol-era", era].map(str::to_owned));
                    args.extend(method.iter().map(|&word| word.to_owned()));
                    // What follows the target's command would be taken for its own.
                    if target.len() > 1 {
                        args.push("--".to_owned());
                    }
                    args.extend(target.clone());
                    serde_json::from_str(&run(&node(), &args)).unwrap()
                };
                let tools = ask(&["--method", "tools/list"]);
                assert_eq!(
                    tools["tools"][0]["name"], "test_simple_text",
                    "{era} before {upstream}"
                );
                let called = ask(&["--method", "tools/call", "--tool-name", "test_simple_text"]);
                let text = &called["content"][0]["text"];
                assert_eq!(text, "This is a simple text response for testing.");
                let resource =
                    ask(&["--method", "resources/read", "--uri", "test://template/7/data"]);
                assert!(
                    resource["contents"][0]["text"].as_str().unwrap().contains("Data for ID: 7")
                );
            }
        }
    }
}
