use serde_json::{Value, json};
use switchboard_toolcall::ErrorKind;

use super::*;

/// Asks at a given moment, on a machine in Berlin.
async fn ask(at: &str, args: Value) -> Result<Value, ToolError> {
    let now: Timestamp = at.parse().unwrap();
    let tool = tool_at(move || now, || TimeZone::get("Europe/Berlin").unwrap());
    let output = tool.call(args, &CallContext::default()).await?;
    Ok(serde_json::from_str(&output.text()).unwrap())
}

#[tokio::test]
async fn the_whole_answer() {
    // LT-3
    let answer = ask("2026-11-15T09:04:26.789Z", json!({})).await.unwrap();
    let expected = json!({
        "datetime": "2026-11-15T10:04:26+01:00",
        "date": "2026-11-15",
        "time": "10:04:26",
        "weekday": "Sunday",
        "timezone": "Europe/Berlin",
        "utc_offset": "+01:00",
        "unix": 1_794_733_466,
    });
    assert_eq!(answer.to_string(), expected.to_string());
}

#[tokio::test]
async fn zones_and_their_changes() {
    // LT-3
    let cases = [
        ("2026-11-15T09:04:26Z", "UTC", "2026-11-15T09:04:26+00:00"),
        ("2026-11-15T09:04:26Z", "utc", "2026-11-15T09:04:26+00:00"),
        ("2026-11-15T23:30:00Z", "Asia/Tokyo", "2026-11-16T08:30:00+09:00"),
        ("2026-11-15T09:04:26Z", "asia/kolkata", "2026-11-15T14:34:26+05:30"),
        ("2026-11-15T09:04:26Z", "+02:00", "2026-11-15T11:04:26+02:00"),
        ("2026-11-15T09:04:26Z", "-03:30", "2026-11-15T05:34:26-03:30"),
        // The gap: 02:00 to 03:00 does not exist on this day.
        ("2026-03-29T00:59:59Z", "Europe/Berlin", "2026-03-29T01:59:59+01:00"),
        ("2026-03-29T01:00:00Z", "Europe/Berlin", "2026-03-29T03:00:00+02:00"),
        // The fold: 02:30 happens twice on this day.
        ("2026-10-25T00:30:00Z", "Europe/Berlin", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T01:30:00Z", "Europe/Berlin", "2026-10-25T02:30:00+01:00"),
        // Half an hour of summer time, and a day that starts elsewhere.
        ("2026-12-31T13:00:00Z", "Australia/Lord_Howe", "2027-01-01T00:00:00+11:00"),
        ("2026-11-15T09:04:26Z", "America/New_York", "2026-11-15T04:04:26-05:00"),
    ];
    for (at, zone, expected) in cases {
        let answer = ask(at, json!({"timezone": zone})).await.unwrap();
        assert_eq!(answer["datetime"], expected, "{zone}");
    }
}

#[tokio::test]
async fn formats() {
    // LT-3
    let check = async |format: &str| {
        let answer = ask("2026-11-15T09:04:26Z", json!({"format": format})).await;
        answer.map(|answer| answer["formatted"].clone()).map_err(|error| error.for_model)
    };
    assert_eq!(check("%A, %d %B %Y, %H:%M").await.unwrap(), "Sunday, 15 November 2026, 10:04");
    assert_eq!(check("%F %T %Z").await.unwrap(), "2026-11-15 10:04:26 CET");
    assert_eq!(check("  ").await.unwrap(), Value::Null);
    let error = check("%Y %!").await.unwrap_err();
    assert!(error.starts_with("Invalid parameters: 'format' `%Y %!` cannot be used: "), "{error}");
    let error = check("YYYY-MM-DD").await.unwrap_err();
    assert!(error.contains("no directive in `YYYY-MM-DD`"), "{error}");
}

#[tokio::test]
async fn unknown_zones_are_named_with_what_is_near() {
    // LT-3
    let cases = [
        ("Europe/Berln", "did you mean Europe/Berlin"),
        ("Berlin", "did you mean Europe/Berlin"),
        ("new york", "did you mean America/New_York"),
        ("Europe/New_York", "did you mean America/New_York"),
        ("UTC+2", "UTC"),
        ("+99:99", "use an IANA name"),
        ("qqqqqqqq", "use an IANA name"),
    ];
    let endless = "Europe/Berlin".repeat(100_000);
    for (zone, way_out) in cases.into_iter().chain([(&*endless, "use an IANA name")]) {
        let error = ask("2026-11-15T09:04:26Z", json!({"timezone": zone})).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParameters);
        let start = format!("Invalid parameters: 'timezone' is unknown: `{zone}`; ");
        assert!(error.for_model.starts_with(&start), "{error}");
        assert!(error.for_model.contains(way_out), "{error}");
    }
}

#[tokio::test]
async fn nothing_given_is_here() {
    for args in [json!({"timezone": null, "format": null}), json!({"timezone": ""})] {
        let answer = ask("2026-11-15T09:04:26Z", args).await.unwrap();
        assert_eq!(answer["timezone"], "Europe/Berlin");
        assert_eq!(answer.get("formatted"), None);
    }
}
