//! `doctor`: what it finds, and its exit status.

use serde_json::Value;

use crate::place::Place;

/// The checks of one name, as `status: message`.
fn check(place: &Place, name: &str) -> (i32, Vec<String>) {
    let ran = place.run(&["doctor", "--json"]);
    let report = ran.json();
    assert_eq!(report["ok"], ran.status == 0, "{ran:?}");
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        ran.status,
        checks
            .map(|check| format!("{}: {}", text(&check["status"]), text(&check["message"])))
            .collect(),
    )
}

#[test]
fn an_empty_place_is_well() {
    let place = Place::new();
    let (status, config) = check(&place, "config");
    assert_eq!(status, 0);
    assert!(config[0].starts_with("info: no config file"), "{config:?}");
    assert!(check(&place, "search_web").1[0].starts_with("info: not configured"));
    assert_eq!(check(&place, "mixer").1.len(), 1);
    assert!(check(&place, "records").1[0].contains("memory"));
    let text = place.run(&["doctor"]);
    assert!(text.stdout.contains("✓ tools") && text.stdout.ends_with("all is well\n"), "{text:?}");
}

#[test]
fn a_handler_that_does_not_exist_is_broken() {
    // LT-2
    let place = Place::with_config(
        "[[tools]]\nname = \"x\"\ndescription = \"d\"\n\
         implementation = { type = \"builtin\", handler = \"math_evil\" }\n",
    );
    let says = "broken: switchboard.toml:1: tool `x`: Builtin handler 'math_evil' not found; \
                did you mean `math_eval`?";
    assert_eq!(check(&place, "handlers"), (1, vec![says.to_owned()]));
    assert_eq!(check(&place, "config").1, ["ok: switchboard.toml was read"]);
    assert!(place.run(&["doctor"]).stdout.ends_with("1 thing is broken\n"));
}

#[test]
fn policy_and_search_are_told() {
    let place = Place::with_config(
        "[policy]\ndeny = [\"echo\"]\n[builtins.search_web]\nprovider = \"duckduckgo\"\n",
    );
    assert_eq!(
        check(&place, "policy"),
        (0, vec!["info: echo is denied by deny \"echo\"".to_owned()])
    );
    assert!(check(&place, "search_web").1[0].starts_with("ok: "));
}

#[test]
fn a_broken_config_is_a_finding() {
    let place = Place::with_config("[executor]\ntimeot = 1");
    let (status, config) = check(&place, "config");
    assert_eq!(status, 1);
    assert!(
        config[0].starts_with("broken: switchboard.toml:2: unknown key `timeot`"),
        "{config:?}"
    );
    let place = Place::with_config(
        "[[tools]]\nname = \"x\"\ndescription = \"d\"\nimplementation = { type = \"mock\" }\n",
    );
    let (status, config) = check(&place, "config");
    assert_eq!((status, config.len()), (1, 2), "{config:?}");
    assert!(config[1].contains("tool `x`: a mock needs `mock_response`"), "{config:?}");
}
