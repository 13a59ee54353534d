//! What models and people see of the built-in tools.

use switchboard_local::{BuiltinsConfig, HandlerKind, Handlers, builtins};
use switchboard_toolcall::Annotations;

#[test]
fn the_built_ins_in_their_order() {
    // LT-3, TL-5
    let tools = builtins::all(&BuiltinsConfig::default());
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    let expected =
        ["get_current_datetime", "search_web", "control_speaker_volume", "math_eval", "echo"];
    assert_eq!(names, expected);

    let handlers = Handlers::new();
    builtins::register(&tools, &handlers);
    let mut sorted = expected;
    sorted.sort_unstable();
    assert_eq!(handlers.names(HandlerKind::Builtin), sorted);
}

#[test]
fn what_they_may_do_to_the_world() {
    // LT-3
    for tool in builtins::all(&BuiltinsConfig::default()) {
        let spec = tool.spec();
        let reads = spec.name != "control_speaker_volume";
        assert_eq!(spec.is_read_only(), reads, "{}", spec.name);
        let reaches_out = (spec.name == "search_web").then_some(true);
        assert_eq!(spec.annotations.open_world, reaches_out, "{}", spec.name);
        assert_ne!(spec.annotations, Annotations::default());
    }
}

#[test]
fn what_models_read() {
    // LT-3
    let tools = builtins::all(&BuiltinsConfig::default());
    let shown: Vec<_> = tools
        .iter()
        .map(|tool| tool.spec())
        .map(|spec| serde_json::json!([spec.name, spec.description, spec.parameters]))
        .collect();
    // As text: insta's own JSON does not know numbers that keep their digits.
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap());
}
