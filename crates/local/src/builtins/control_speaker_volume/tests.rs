use serde_json::{Value, json};

use super::*;

fn arguments(value: Value) -> VolumeArguments {
    serde_json::from_value(value).unwrap()
}

#[test]
fn every_action_is_a_change_within_bounds() {
    // LT-3
    let check = |value: Value| arguments(value).change(60);
    assert_eq!(check(json!({"action": "get", "level": 5})), VolumeChange::Nothing);
    assert_eq!(check(json!({"action": "set", "level": 25.0})), VolumeChange::Level(25));
    assert_eq!(check(json!({"action": "up"})), VolumeChange::Level(70));
    assert_eq!(check(json!({"action": "up", "amount": 55})), VolumeChange::Level(100));
    assert_eq!(check(json!({"action": "down"})), VolumeChange::Level(50));
    assert_eq!(check(json!({"action": "down", "amount": 99})), VolumeChange::Level(0));
    assert_eq!(check(json!({"action": "down", "amount": null})), VolumeChange::Level(50));
    assert_eq!(check(json!({"action": "mute"})), VolumeChange::Muted(true));
    assert_eq!(check(json!({"action": "unmute"})), VolumeChange::Muted(false));
    assert_eq!(check(json!({"action": "max"})), VolumeChange::Level(100));
}

#[tokio::test]
async fn wrong_arguments_are_named_before_any_mixer_is_asked() {
    // LT-3
    let tool = tool(Config::default());
    let check = async |args: Value| {
        let error = tool.call(args, &CallContext::default()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParameters);
        error.for_model
    };
    assert_eq!(check(json!({"action": "set"})).await, "Invalid parameters: missing 'level'");
    let error = check(json!({"action": "set", "level": 101})).await;
    assert_eq!(error, "Invalid parameters: 'level' must be between 0 and 100");
    let error = check(json!({"action": "up", "amount": -1})).await;
    assert_eq!(error, "Invalid parameters: 'amount' must be between 0 and 100");
    assert!(check(json!({"action": "louder"})).await.contains("`louder`"));
}

#[tokio::test]
async fn without_a_mixer_it_says_what_to_install() {
    // LT-3
    let env = BTreeMap::from([("PATH".to_owned(), "/nowhere".to_owned())]);
    let mixer = MixerChoice::Auto;
    let config = Config { mixer, env };
    let tool = tool(config.clone());
    let args = json!({"action": "get"});
    let error = tool.call(args, &CallContext::default()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    let probed = answering_mixer(config).await.unwrap_err();
    assert_eq!(probed.for_model, error.for_model);
    assert_eq!(
        error.for_model,
        "Tool 'control_speaker_volume' is unavailable: no mixer answers (pipewire: wpctl is not installed; \
         pulseaudio: pactl is not installed; alsa: amixer is not installed). Install wpctl (wireplumber), pactl \
         (pulseaudio-utils) or amixer (alsa-utils), and check that the sound server runs for this user"
    );
}

#[test]
fn the_schema_lists_the_actions() {
    let tool = tool(Config::default());
    let actions = &tool.spec().parameters["properties"]["action"]["enum"];
    assert_eq!(*actions, json!(["get", "set", "up", "down", "mute", "unmute", "max"]));
    assert_eq!(tool.spec().parameters["required"], json!(["action"]));
}
