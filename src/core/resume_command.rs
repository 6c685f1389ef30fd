//! The command that a person types to continue an agent's conversation.

use crate::id::ThreadId;

/// The longest id of a conversation that is written into a command, in characters. Claude's are
/// UUIDs of 36.
const ID_CHARS_MAX: usize = 64;

/// The command line that takes Codex's last conversation up again. It is the daemon's own: it resumes
/// the thread of the record wherever that is loaded.
pub const CODEX_GOES_ON: &str = "ctxrelay codex";

/// The command line that takes Claude's last conversation up again; `known` is that of the pair, once
/// Claude was in it. It is named where the record knows it, since the last one of the folder may be
/// another than that of the pair; where it does not, Claude chooses the last one.
pub fn claude_goes_on(known: Option<Option<&ThreadId>>) -> String {
    let Some(conversation) = known else {
        return "ctxrelay claude".to_owned();
    };
    match conversation.filter(|id| is_plain(id.as_str())) {
        Some(id) => format!("ctxrelay claude --resume {id}"),
        None => "ctxrelay claude --continue".to_owned(),
    }
}

/// Whether an id means nothing to a shell and is no option. It was told by a hook, or stands in a
/// record of somebody else's.
pub fn is_plain(id: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !id.is_empty() && id.len() <= ID_CHARS_MAX && !id.starts_with('-') && id.bytes().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(thread: Option<&str>) -> String {
        let thread = thread.map(ThreadId::new);
        claude_goes_on(Some(thread.as_ref()))
    }

    #[test]
    fn the_conversation_of_the_record_is_named() {
        let id = "0b6f3c1e-7d52-4a0e-9a55-1f6f0c2f9d11";
        let named = format!("ctxrelay claude --resume {id}");
        assert_eq!(command(Some(id)), named);
        assert_eq!(command(None), "ctxrelay claude --continue");
        assert_eq!(claude_goes_on(None), "ctxrelay claude");
    }

    #[test]
    fn an_id_that_would_be_more_than_a_word_is_not_written() {
        let long = "a".repeat(ID_CHARS_MAX + 1);
        for id in [
            "",
            "a b",
            "a;id",
            "$(id)",
            "--settings",
            "a\u{1b}[2J",
            "ü",
            &long,
        ] {
            let said = command(Some(id));
            assert_eq!(said, "ctxrelay claude --continue", "{id:?}");
        }
    }
}
