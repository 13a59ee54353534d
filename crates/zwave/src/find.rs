//! Finds the device that a text names.

use switchboard_toolcall::ToolError;

use crate::{device::Device, network::ZwaveNode, unicode};

/// How similar a name must be to be suggested.
const CLOSE: f64 = 0.8;

/// Returns the one device that `words` name: a name, `Location/Name` or an id; ignores case and spacing.
///
/// # Errors
/// Returns an error if no device, or more than one, matches.
pub(crate) fn device<'a>(nodes: &'a [ZwaveNode], words: &str) -> Result<Device<'a>, ToolError> {
    let devices = || nodes.iter().filter_map(Device::of);
    let words = words.trim();
    let (exact_words, plain_words) = (unicode::composed(words), plain(words));
    let ways: [&dyn Fn(&Device<'_>) -> bool; 4] = [
        &|device| unicode::composed(&device.path()) == exact_words,
        &|device| unicode::composed(&device.node().name) == exact_words,
        &|device| plain(&device.path()) == plain_words || plain(&device.name()) == plain_words,
        &|device| is_id(device.node().id, &plain_words),
    ];
    // An empty name does not mean a device without a name.
    if plain_words.is_empty() {
        return Err(ToolError::invalid("'deviceName' must not be empty"));
    }
    for is_meant in ways {
        let mut meant = devices().filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(only), None) => return Ok(only),
            (Some(_), Some(_)) => return Err(ambiguous(words, devices().filter(is_meant))),
            (None, _) => {}
        }
    }
    Err(unknown(words, &plain_words, devices().collect()))
}

/// Returns the text without case and spacing; topics write spaces as `_`.
fn plain(text: &str) -> String {
    unicode::folded(text).chars().filter(|c| !c.is_whitespace() && *c != '_').collect()
}

fn is_id(id: u64, words: &str) -> bool {
    let number = words.strip_prefix("nodeid").or_else(|| words.strip_prefix("node"));
    number.unwrap_or(words).trim_start_matches('#').parse() == Ok(id)
}

fn ambiguous<'a>(words: &str, meant: impl Iterator<Item = Device<'a>>) -> ToolError {
    let meant: Vec<_> = meant.collect();
    // Two names that look alike are shown with their ids, even if they are encoded differently.
    let paths: Vec<_> = meant.iter().map(|device| unicode::composed(&device.path())).collect();
    let names = meant.iter().zip(&paths).map(|(device, path)| {
        let is_alone = paths.iter().filter(|other| *other == path).count() == 1;
        if is_alone { path.clone() } else { format!("{path} (id {})", device.node().id) }
    });
    let names: Vec<_> = names.collect();
    let text = format!("'deviceName': '{words}' could be any of: {}", names.join(", "));
    ToolError::invalid(text).with_hint("Say which one, as Location/Name or by its id")
}

fn unknown(words: &str, plain_words: &str, devices: Vec<Device<'_>>) -> ToolError {
    let mut close: Vec<_> = devices
        .iter()
        .map(|device| (likeness(device, plain_words), device.path()))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .collect();
    close.sort_by(|one, other| other.0.total_cmp(&one.0));
    let close: Vec<_> = close.into_iter().take(3).map(|(_, path)| path).collect();
    let hint = match &close[..] {
        [] if devices.is_empty() => "The network has no devices".to_owned(),
        [] => "list_devices names all devices".to_owned(),
        close => format!("Did you mean: {}?", close.join(", ")),
    };
    ToolError::invalid(format!("'deviceName': no device is called '{words}'. {hint}"))
}

/// Returns the similarity, from 0 to 1. A name that contains the other counts as very similar.
fn likeness(device: &Device<'_>, plain_words: &str) -> f64 {
    let of = |name: String| match plain(&name) {
        name if name.contains(plain_words) || plain_words.contains(&name) => 0.95,
        name => strsim::jaro_winkler(&name, plain_words),
    };
    of(device.name()).max(of(device.path()))
}
