//! A page that a server wants opened: shown with its host, and never opened for the person.

use std::io;

use switchboard_mcp_wire::elicitation::{ElicitPage, ElicitResult};

use super::QuestionScreen;
use crate::terminal::{self, text};

/// Shows the address and waits until the person confirms that the page was visited, or declines.
pub(super) async fn ask(
    screen: &QuestionScreen<'_>,
    page: &ElicitPage,
) -> io::Result<ElicitResult> {
    terminal::tell(&screen.opening("wants you to open a page in your browser", &page.message));
    let host = screen.paint.bold(&text::one_line(&page.host));
    let address = text::one_line(&page.address);
    terminal::tell(&format!("  Host:    {host}\n  Address: {address}"));
    terminal::tell("  Open it yourself if you trust that host; Switchboard does not.");
    let keys = [('y', "es, I opened it"), ('n', "o, decline"), ('c', "ancel")];
    Ok(match screen.key("  Go on?", &keys).await? {
        'y' => ElicitResult::Accept(None),
        'n' => ElicitResult::Decline,
        _ => ElicitResult::Cancel,
    })
}
