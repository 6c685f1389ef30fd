//! [`ring_line`]: what the doorbell prints.

/// The longest doorbell line, in characters: Claude cuts a monitor's line at 500 (Claude Code
/// 2.1.330, observed).
const RING_CHARS_MAX: usize = 500;

/// How many ids a doorbell line names.
const RING_IDS_MAX: usize = 4;

/// One line without a body: `2 messages from codex`; Claude puts the monitor's name beside it. The
/// hook of the turn that it begins hands the bodies over; where none will, Claude is asked to fetch
/// them: `… (ids …). Call get_messages.` Each message is given as its sender and its id.
pub(super) fn ring_line(messages: &[(&str, &str)], asks: bool) -> String {
    let mut senders: Vec<&str> = messages.iter().map(|(from, _)| *from).collect();
    senders.sort_unstable();
    senders.dedup();
    let count = match messages.len() {
        1 => "1 message".to_owned(),
        n => format!("{n} messages"),
    };
    let mut line = format!("{count} from {}", senders.join(" and "));
    if asks {
        let ids = messages.iter().take(RING_IDS_MAX).map(|(_, id)| *id);
        let mut ids: Vec<&str> = ids.collect();
        if messages.len() > RING_IDS_MAX {
            ids.push("…");
        }
        let id_s = if messages.len() == 1 { "id" } else { "ids" };
        line.push_str(&format!(" ({id_s} {}). Call get_messages.", ids.join(", ")));
    }
    line.chars().take(RING_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_doorbell_line_says_no_more_than_is_needed() {
        let one = [("codex", "41")];
        assert_eq!(ring_line(&one, false), "1 message from codex");
        assert_eq!(
            ring_line(&one, true),
            "1 message from codex (id 41). Call get_messages."
        );
    }

    #[test]
    fn the_doorbell_line_stays_short_however_many_wait() {
        let id = "0198aa00-0000-7000-8000-000000000000";
        let many = vec![("codex", id); 500];
        let line = ring_line(&many, true);
        assert!(line.starts_with("500 messages from codex (ids "));
        assert!(line.ends_with("Call get_messages."), "{line}");
        assert!(line.chars().count() <= RING_CHARS_MAX);
    }
}
