//! [`edit`]: lends the terminal to the person's editor, and takes it back however the editor ends.
//! [`Missed`]: what arrives in the meantime.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ctxrelay_ui::{Msg, UnsentText};

use crate::deck::key_slot::KeySlot;
use crate::deck::terminal::editor::{Edited, Editor, command};
use crate::deck::terminal::input::Input;
use crate::deck::terminal::term::{Screen, is_gone, is_lost};
use crate::deck::terminal::terminal_input::TerminalInput;

/// How often it is looked whether the editor has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Messages that are kept for a screen that nobody sees: more than a person can have asked for.
const MISSED_MAX: usize = 256;

/// What comes for the screen while the editor has the terminal.
#[derive(Debug)]
pub(in crate::deck) struct Missed<'a> {
    /// Forgotten where this process was suspended.
    key_slot: &'a KeySlot,
    /// The editor has a draft: what was typed before it had the terminal is for the edited text.
    is_draft: bool,
    told: Vec<Msg>,
    typed: Vec<Msg>,
}

impl<'a> Missed<'a> {
    pub(in crate::deck) fn new(key_slot: &'a KeySlot, is_draft: bool) -> Self {
        Self {
            key_slot,
            is_draft,
            told: Vec::new(),
            typed: Vec::new(),
        }
    }

    /// Returns whether the deck is to end.
    fn take(&mut self, input: Input) -> bool {
        match input {
            Input::End => return true,
            // Somebody else suspended it.
            Input::Continued => self.key_slot.forget(),
            // A view lies in its slot.
            Input::Look => {}
            // Nobody reads the terminal for the deck now: this came before.
            Input::Msg(msg) if is_typed(&msg) => {
                if self.is_draft && self.typed.len() < MISSED_MAX {
                    self.typed.push(*msg);
                }
            }
            Input::Msg(msg) => keep(&mut self.told, *msg),
        }
        false
    }

    /// Takes what waits already. Returns whether the deck is to end.
    pub(in crate::deck) fn take_waiting(&mut self, inputs: &Receiver<Input>) -> bool {
        inputs.try_iter().any(|input| self.take(input))
    }

    /// What the screen is told, and what was typed for the edited text: nothing where there is none.
    pub(in crate::deck) fn parted(self, edited: Option<&Msg>) -> (Vec<Msg>, Vec<Msg>) {
        match edited {
            Some(Msg::EditorText(_)) => (self.told, self.typed),
            _ => (self.told, Vec::new()),
        }
    }
}

/// The deck ends, or its terminal is gone, while the editor is open.
#[derive(Debug)]
pub(in crate::deck) struct Over {
    /// It has ended.
    editor: Option<Editor>,
}

impl Over {
    /// What was saved in the editor, where that is another text than `before`; also where the editor
    /// failed, as it was ended together with the deck. Where nobody is there to be told the text it
    /// stays in its file as well. Beside it, where to look for what was not saved.
    pub(in crate::deck) fn left(self, before: &str) -> (Option<String>, Option<UnsentText>) {
        let Some(mut editor) = self.editor else {
            return (None, None);
        };
        let saved = editor.saved(before);
        let has_own_files = editor.has_own_files();
        let kept = (is_lost() || has_own_files).then(|| editor.keep(before));
        let Some(kept) = kept.flatten() else {
            return (saved, None);
        };
        let kept = kept.display();
        tracing::warn!(%kept, "the editor ended with the deck: what was written in it stays here");
        let unsaved = has_own_files.then(|| UnsentText {
            what: "what your editor may not have saved".to_owned(),
            text: format!("its own files stay in {kept}"),
        });
        (saved, unsaved)
    }
}

/// Runs the editor on a copy of the text and waits for its end. Nothing else waits for it: who feeds
/// the screen finds its slot and its queue as ever. What it is told meanwhile, a refused message
/// say, is put into `missed`.
///
/// # Errors
///
/// When the deck is to end; the editor has ended then too.
pub(in crate::deck) fn edit(
    screen: &mut Screen,
    typed: &TerminalInput,
    inputs: &Receiver<Input>,
    text: &str,
    missed: &mut Missed<'_>,
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
fn wait(editor: &mut Editor, inputs: &Receiver<Input>, missed: &mut Missed<'_>) -> Option<Edited> {
    loop {
        if let Some(edited) = editor.ended() {
            return Some(edited);
        }
        let is_over = match inputs.recv_timeout(LOOK_EVERY) {
            Ok(input) => missed.take(input),
            Err(RecvTimeoutError::Disconnected) => true,
            // The hangup goes to whom the terminal was lent; the shell behind may tell nobody.
            Err(RecvTimeoutError::Timeout) => is_gone(),
        };
        if is_over {
            editor.end();
            return None;
        }
    }
}

/// Whether it is text or a command of the person's.
fn is_typed(msg: &Msg) -> bool {
    matches!(msg, Msg::Key(_) | Msg::Paste(_))
}

/// Keeps what the screen is told while somebody else has the terminal. Nothing that is typed: that is
/// for the shell, or [`Missed`] keeps it apart. Size, time and view are those of the next frame anyway.
pub(in crate::deck) fn keep(missed: &mut Vec<Msg>, msg: Msg) {
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
    use std::sync::mpsc::channel;

    use ctxrelay_ui::Msg;
    use ctxrelay_ui::model::{FoundEntries, Level};

    use super::{Missed, keep};
    use crate::deck::key_slot::KeySlot;
    use crate::deck::terminal::input::Input;

    fn input(msg: Msg) -> Input {
        Input::Msg(Box::new(msg))
    }

    #[test]
    fn what_is_typed_behind_the_editors_key_is_for_the_text_that_it_leaves_alone() {
        let key_slot = KeySlot::default();
        let left = Msg::EditorText("edited".to_owned());
        let failed = Msg::Notice(Level::Warn, "it failed".to_owned());
        let of_draft = [(Some(&left), 1), (Some(&failed), 0), (None, 0)];
        let of_view = [(Some(&failed), 0), (None, 0)];
        for (is_draft, cases) in [(true, &of_draft[..]), (false, &of_view[..])] {
            for (edited, wanted) in cases {
                let mut missed = Missed::new(&key_slot, is_draft);
                assert!(!missed.take(input(Msg::Paste("q".to_owned()))));
                assert!(!missed.take(input(Msg::FindingPlaces(Vec::new()))));
                let (told, typed) = missed.parted(*edited);
                assert_eq!(typed.len(), *wanted, "{is_draft}, {edited:?}");
                assert!(matches!(told[..], [Msg::FindingPlaces(_)]), "{told:?}");
            }
        }
    }

    #[test]
    fn the_key_is_forgotten_where_the_deck_was_suspended_while_the_editor_was_open() {
        let key_slot = KeySlot::default();
        let (inputs, waiting) = channel();
        inputs.send(Input::Look).unwrap();
        let mut missed = Missed::new(&key_slot, true);
        assert!(!missed.take_waiting(&waiting));
        assert_eq!(key_slot.forgotten(), 0);
        inputs.send(Input::Continued).unwrap();
        inputs.send(Input::End).unwrap();
        assert!(missed.take_waiting(&waiting));
        assert_eq!(key_slot.forgotten(), 1);
    }

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
        // What is typed is nothing that the screen is told.
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
