//! [`shell_text`]: the part of a request for approval that a shell would read.

use std::borrow::Cow;

use super::git_write::COMMAND_BYTES_MAX;
use super::shell_lexer;
use crate::entry::ApprovalRequest;

/// How Codex names text that it types into a command that runs already; the text is the last word
/// (0.169.0, observed: `write_stdin --session-id 7 'npm publish'`). A command that the model names
/// itself stands behind a shell.
const WRITE_STDIN: &str = "write_stdin --session-id ";

/// Whether a command is that.
pub(super) fn is_typed(request: &ApprovalRequest) -> bool {
    request.kind.is_shell() && request.subject.starts_with(WRITE_STDIN)
}

/// The command, or what is typed into one that runs already: that may be a shell.
pub(super) fn shell_text(request: &ApprovalRequest) -> Cow<'_, str> {
    let whole = Cow::Borrowed(request.subject.as_str());
    if !is_typed(request) || whole.len() > COMMAND_BYTES_MAX {
        return whole;
    }
    let mut read = shell_lexer::read(&whole).commands;
    match (read.pop(), read.is_empty()) {
        (Some(mut command), true) => match command.words.pop() {
            Some(word) if !word.is_dynamic => Cow::Owned(word.text),
            _ => whole,
        },
        _ => whole,
    }
}
