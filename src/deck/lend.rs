//! [`edit`]: lends the terminal to the person's editor, and takes it back whatever becomes of that.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ctxrelay_ui::Msg;

use super::editor::{Edited, Editor, command};
use super::input::Input;
use super::term::{Screen, is_lost};
use super::terminal_input::TerminalInput;

/// How often it is looked whether the editor has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Messages that are kept for a screen that nobody sees: more than a person can have asked for.
const MISSED_MAX: usize = 256;

/// The deck ends, or its terminal is gone, while the editor is open.
#[derive(Debug)]
pub(super) struct Over {
    /// It has ended.
    editor: Option<Editor>,
}

impl Over {
    /// What was saved in the editor, where that is another text than `before`; also where the editor
    /// failed, as it was ended together with the deck. Where nobody is there to be told the text it
    /// stays in its file as well.
    pub(super) fn saved(self, before: &str) -> Option<String> {
        let mut editor = self.editor?;
        let saved = editor.saved(before)?;
        if is_lost()
            && let Some(file) = editor.keep(before)
        {
            let file = file.display();
            tracing::warn!(%file, "the terminal is gone: what was saved in the editor stays in this file");
        }
        Some(saved)
    }
}

/// Runs the editor on a copy of the text and waits for its end. Nothing else waits for it: who feeds
/// the screen finds its slot and its queue as ever. What it is told meanwhile, a refused message
/// say, is put into `missed`, and so is what was typed before the editor had the terminal.
///
/// # Errors
///
/// When the deck is to end; the editor has ended then too.
pub(super) fn edit(
    screen: &mut Screen,
    typed: &TerminalInput,
    inputs: &Receiver<Input>,
    text: &str,
    missed: &mut Vec<Msg>,
) -> Result<Edited, Over> {
    let Some(command) = command() else {
        return Ok(Edited::Failed("no editor: set $EDITOR".to_owned()));
    };
    if !typed.pause() {
        let why = "the terminal is busy: press the key again".to_owned();
        return Ok(Edited::Failed(why));
    }
    let mut editor = None;
    let ended = screen.lend(|| match Editor::open(&command, text) {
        Ok(opened) => wait(editor.insert(opened), inputs, missed),
        Err(error) => Some(Edited::Failed(format!(
            "the editor cannot be opened: {error}"
        ))),
    });
    let edited = match ended {
        Some(edited) if screen.resume().is_ok() => Ok(edited),
        _ => Err(Over { editor }),
    };
    typed.go_on();
    edited
}

/// Nothing where the deck is to end; the editor has ended then too.
fn wait(editor: &mut Editor, inputs: &Receiver<Input>, missed: &mut Vec<Msg>) -> Option<Edited> {
    loop {
        if let Some(edited) = editor.ended() {
            return Some(edited);
        }
        match inputs.recv_timeout(LOOK_EVERY) {
            Ok(Input::End) | Err(RecvTimeoutError::Disconnected) => {
                editor.end();
                return None;
            }
            // Nobody reads the terminal for the deck now: this came before.
            Ok(Input::Msg(msg)) if is_typed(&msg) && missed.len() < MISSED_MAX => missed.push(*msg),
            Ok(Input::Msg(msg)) => keep(missed, *msg),
            // A view lies in its slot.
            Ok(Input::Look | Input::Continued) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Whether it is text or a command of the person's.
pub(super) fn is_typed(msg: &Msg) -> bool {
    matches!(msg, Msg::Key(_) | Msg::Paste(_))
}

/// Keeps what the screen is told while somebody else has the terminal. Keys were meant for that one;
/// size, time and view are those of the next frame anyway.
pub(super) fn keep(missed: &mut Vec<Msg>, msg: Msg) {
    let is_kept = !matches!(
        msg,
        Msg::Key(_)
            | Msg::Mouse(_)
            | Msg::Paste(_)
            | Msg::Resize(..)
            | Msg::Focus(_)
            | Msg::Tick(_)
            | Msg::View(_)
    );
    if is_kept && missed.len() < MISSED_MAX {
        missed.push(msg);
    }
}

#[cfg(test)]
mod tests {
    use ctxrelay_ui::Msg;
    use ctxrelay_ui::model::FoundEntries;

    use super::keep;

    #[test]
    fn what_becomes_of_a_signature_while_the_editor_is_open_is_not_lost() {
        let mut missed = Vec::new();
        let (fingerprint, what) = ("SHA256:abc".to_owned(), "Approve: it".to_owned());
        keep(&mut missed, Msg::AskPassphrase { fingerprint, what });
        keep(&mut missed, Msg::Unlocked(Ok(())));
        assert!(matches!(
            missed[..],
            [Msg::AskPassphrase { .. }, Msg::Unlocked(Ok(()))]
        ));
    }

    #[test]
    fn what_was_asked_for_and_comes_while_the_editor_is_open_is_not_lost() {
        let mut missed = Vec::new();
        let (commit, read) = ("abc".to_owned(), Ok("+ a line".to_owned()));
        keep(&mut missed, Msg::Diff { commit, read });
        keep(&mut missed, Msg::FindingPlaces(Vec::new()));
        // What is typed there is no key here.
        keep(&mut missed, Msg::Paste("q".to_owned()));
        keep(&mut missed, Msg::Tick(1));
        assert!(
            matches!(missed[..], [Msg::Diff { .. }, Msg::FindingPlaces(_)]),
            "{missed:?}"
        );
    }

    #[test]
    fn a_page_of_hits_that_comes_while_the_editor_is_open_is_not_lost() {
        let mut missed = Vec::new();
        let found = FoundEntries {
            number: 1,
            words: "plum".to_owned(),
            rows: Vec::new(),
            total: 0,
            total_is_at_least: false,
            cursor: None,
            goes_on: true,
            behind: 0,
            unread_lines: 0,
            fault: None,
        };
        keep(&mut missed, Msg::Found(Box::new(found)));
        assert!(matches!(missed[..], [Msg::Found(_)]));
    }
}
