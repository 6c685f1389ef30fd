//! The name of the visible thread. It needs a name before anything is said in it, and all of those
//! names are the same; Codex's own list shows each conversation by how it began.

use crate::core::hidden::letters;
use crate::core::id::{ThreadId, TurnId};
use crate::wire::codex::call::{Call as _, ThreadNameSet};

use super::super::rpc::Lost;
use super::{Session, Todo};

/// Of a name: what fits on a line of Codex's list.
const NAME_CHARS_MAX: usize = 60;

impl Session<'_> {
    /// Somebody said this in a turn. It names the visible thread while that has the name of a new one.
    pub(super) fn is_about(&mut self, turn_id: &TurnId, said: &str) {
        let Some(book) = &self.thread_state.visible else {
            return;
        };
        if !self.has_our_name || book.open_turn() != Some(turn_id) {
            return;
        }
        // Codex keeps its list outside of the project, and of a secret that is cut nothing is masked.
        let name = name_of(&self.context.redactor.redact_text(said).0);
        if !name.is_empty() {
            self.has_our_name = false;
            let named = Todo::Name(book.thread_id().clone(), name);
            self.todo.push_back(named);
        }
    }

    /// Calls a thread this, which may be the visible one no more. What is answered does not matter, and
    /// nothing waits for it.
    pub(super) async fn name_after(
        &mut self,
        thread_id: &ThreadId,
        name: String,
    ) -> Result<(), Lost> {
        let thread_id = thread_id.to_string();
        let set = ThreadNameSet { thread_id, name };
        self.rpc.request(ThreadNameSet::METHOD, &set).await?;
        Ok(())
    }
}

/// How a text begins, as a name: one line of what can be seen.
fn name_of(said: &str) -> String {
    let words: Vec<&str> = said.split_whitespace().collect();
    let words = words.join(" ");
    let seen = letters(&words).filter(|(c, is_hidden)| !c.is_control() && !is_hidden);
    let seen: String = seen.map(|(c, _)| c).collect();
    if seen.chars().nth(NAME_CHARS_MAX).is_none() {
        return seen;
    }
    let mut name: String = seen.chars().take(NAME_CHARS_MAX - 1).collect();
    name.truncate(name.trim_end().len());
    name.push('…');
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_short_line_of_what_can_be_seen() {
        assert_eq!(
            name_of("  sort\tthe\u{1b}[2J pears\u{202e} "),
            "sort the[2J pears"
        );
        assert_eq!(name_of("\u{200b}\u{7}"), "");
        let long = name_of(&"é".repeat(NAME_CHARS_MAX + 1));
        assert_eq!(long.chars().count(), NAME_CHARS_MAX);
        assert!(long.ends_with("é…"), "{long}");
        let fits = "x".repeat(NAME_CHARS_MAX);
        assert_eq!(name_of(&fits), fits);
    }
}
