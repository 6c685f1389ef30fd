//! The title of the terminal's window: what waits for the operator, who may look at another one.

use crate::deck::Deck;
use crate::glyph::Glyphs;
use crate::{sanitize, text};

/// Columns of the project's name. A tab or a task bar shows fewer.
const NAME_MAX: usize = 40;

impl Deck {
    /// The title of the window: one harmless line, what waits first, because a tab shows only the
    /// beginning. Without a number nothing waits, or nothing was read yet. ASCII where the marks are.
    pub fn window_title(&self) -> String {
        let waits = match self.view.waiting() {
            _ if self.opening().is_some() => String::new(),
            0 => String::new(),
            1 => "1 waits - ".to_owned(),
            n => {
                let n = u64::try_from(n).unwrap_or(u64::MAX);
                format!("{} wait - ", text::grouped(n))
            }
        };
        let project = text::fit(&sanitize::line(&self.view.project), NAME_MAX);
        let title = if project.is_empty() {
            format!("{waits}ctxrelay")
        } else {
            format!("{waits}{project} - ctxrelay")
        };
        match self.glyphs {
            Glyphs::Unicode => title,
            Glyphs::Ascii => title.replace(|c: char| !c.is_ascii(), "?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deck::Settings;
    use crate::model::{Agent, DeckView, InboxCard, InboxKind};
    use crate::msg::Msg;
    use crate::update::update;

    fn title(glyphs: Glyphs, project: &str, cards: usize, opening: Option<&str>) -> String {
        let settings = Settings {
            glyphs,
            ..Settings::new().unwrap()
        };
        let card = |n: usize| {
            InboxCard::new(
                InboxKind::Question,
                format!("q{n}"),
                Agent::Codex,
                0,
                "May I?",
            )
        };
        let view = DeckView {
            project: project.to_owned(),
            inbox: (0..cards).map(card).collect(),
            opening: opening.map(str::to_owned),
            ..DeckView::default()
        };
        let mut deck = Deck::new(settings).unwrap();
        update(&mut deck, Msg::View(Box::new(view)));
        deck.window_title()
    }

    #[test]
    fn it_counts_what_waits() {
        let title = |cards| title(Glyphs::Unicode, "acme-api", cards, None);
        assert_eq!(title(0), "acme-api - ctxrelay");
        assert_eq!(title(1), "1 waits - acme-api - ctxrelay");
        assert_eq!(title(1_204), "1 204 wait - acme-api - ctxrelay");
    }

    #[test]
    fn before_anything_was_read_it_counts_nothing() {
        let deck = Deck::new(Settings::new().unwrap()).unwrap();
        assert_eq!(deck.window_title(), "ctxrelay");
        let opening = title(Glyphs::Unicode, "acme", 2, Some("opening the record"));
        assert_eq!(opening, "acme - ctxrelay");
    }

    #[test]
    fn a_folders_name_cannot_leave_the_title() {
        let name = "a\x07\x1b]52;c;cm0=\x1b\\\u{9d}0;b\u{9c}\n\u{202e}c";
        let hostile = title(Glyphs::Unicode, name, 1, None);
        assert!(hostile.starts_with("1 waits - a"), "{hostile}");
        assert!(hostile.ends_with(" - ctxrelay"), "{hostile}");
        assert!(!hostile.chars().any(char::is_control), "{hostile:?}");
        assert!(!hostile.contains('\u{202e}'), "{hostile:?}");
        let long = title(Glyphs::Unicode, &"x".repeat(10_000), 0, None);
        assert!(
            text::width(&long) <= NAME_MAX + " - ctxrelay".len(),
            "{long}"
        );
        let old = title(Glyphs::Ascii, "Zürich…", 0, None);
        assert_eq!(old, "Z?rich? - ctxrelay");
    }
}
