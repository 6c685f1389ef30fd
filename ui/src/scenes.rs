//! Named example worlds: [`Scene`]. Snapshot tests, pictures and a deck without a daemon use the
//! same ones.

mod agent_work;
mod agents;
mod asked;
mod capsules;
mod far_back;
mod findings;
mod foreign_text;
mod found;
mod list;
mod pieces;
mod recovery;
mod regions;
mod trouble;
mod worlds;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::deck::{Deck, Settings};
use crate::effect::Effect;
use crate::key::Key;
use crate::model::DeckView;
use crate::msg::Msg;
use crate::update::update;
use crate::view::view;

pub use agent_work::{codex_rules, codex_work, rules_changed};
pub use asked::{asked, asked_user, trust_waits};
pub use far_back::far_back;
pub use findings::{opened_finding, reviewed};
pub use foreign_text::ForeignText;
pub use found::{found_entries, found_everywhere};
use found::{found_nothing, found_unread};
pub use list::SCENES;
pub use pieces::NOW_MS;
pub use recovery::broken_work;
pub use regions::painted_outside;
pub use trouble::{held_up, trouble};
pub use worlds::{
    asked_between, bad_lines, compacted, disconnected, empty_first_run, failed, gated,
    gates_running, handed_over, hostile_text, long_session, not_signed, pair_at_work,
    passphrase_asked, quiet, ruled, signed, signed_elsewhere, stale, touch_asked, unlocked,
};

/// A world and the keys that were pressed in it.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// Its name, also that of its pictures.
    pub name: &'static str,
    pub world: fn() -> DeckView,
    /// What was typed, as [`Key::script`] reads it.
    pub keys: &'static str,
    /// What the deck is told after that.
    pub told: Option<fn() -> Msg>,
    /// And after that.
    pub then: Option<fn() -> Msg>,
    /// The size that shows it best, columns and rows.
    pub size: (u16, u16),
}

pub fn scene(name: &str) -> Option<&'static Scene> {
    SCENES.iter().find(|scene| scene.name == name)
}

/// Types a script; all effects, in order.
///
/// # Panics
/// When the script is none: it is written in a test.
pub fn keys(deck: &mut Deck, script: &str) -> Vec<Effect> {
    let keys = Key::script(script).unwrap_or_else(|bad| panic!("'{bad}' is no key"));
    keys.into_iter()
        .flat_map(|key| update(deck, Msg::Key(key.to_event())))
        .collect()
}

impl Scene {
    /// The deck of this scene, at its own size and with the default settings.
    ///
    /// # Panics
    /// When a built-in theme or keymap is broken.
    pub fn deck(&self) -> Deck {
        let settings = Settings::new().unwrap_or_else(|error| panic!("keymap: {error}"));
        self.deck_with(settings, self.size)
    }

    /// The deck of this scene.
    ///
    /// # Panics
    /// When the settings' theme is broken.
    pub fn deck_with(&self, settings: Settings, size: (u16, u16)) -> Deck {
        self.deck_after(settings, size, |msg| msg)
    }

    /// As [`Self::deck_with`], with one text in each field that holds text.
    ///
    /// # Panics
    /// When the settings' theme is broken.
    pub fn deck_of_text(&self, settings: Settings, size: (u16, u16), text: &str) -> Deck {
        self.deck_after(settings, size, |mut msg| {
            msg.fill(text);
            msg
        })
    }

    fn deck_after(
        &self,
        settings: Settings,
        size: (u16, u16),
        change: impl Fn(Msg) -> Msg,
    ) -> Deck {
        let mut deck = Deck::new(settings).unwrap_or_else(|error| panic!("theme: {error}"));
        update(&mut deck, Msg::Resize(size.0, size.1));
        update(&mut deck, change(Msg::View(Box::new((self.world)()))));
        for key in Key::script(self.keys).unwrap_or_else(|bad| panic!("'{bad}' is no key")) {
            let effects = update(&mut deck, Msg::Key(key.to_event()));
            if effects.contains(&Effect::ReadCapsules) {
                // What is opened from the list is behind its answer.
                update(&mut deck, change(capsules::listed()));
            }
        }
        if let Some(told) = self.told {
            let told = told();
            if matches!(told, Msg::Exported { .. }) {
                // What is written was read before.
                update(&mut deck, change(capsules::fresh()));
            }
            update(&mut deck, change(told));
        }
        if let Some(then) = self.then {
            update(&mut deck, change(then()));
        }
        deck
    }
}

/// The screen that a deck gives at a size.
///
/// # Panics
/// Never: the test backend cannot fail.
pub fn screen(deck: &Deck, size: (u16, u16)) -> Buffer {
    terminal(deck, size).backend().buffer().clone()
}

/// The same as a terminal, whose backend prints as text.
///
/// # Panics
/// Never: the test backend cannot fail.
pub fn terminal(deck: &Deck, size: (u16, u16)) -> Terminal<TestBackend> {
    let mut terminal =
        Terminal::new(TestBackend::new(size.0, size.1)).unwrap_or_else(|error| match error {});
    terminal
        .draw(|frame| view(deck, frame))
        .unwrap_or_else(|error| match error {});
    terminal
}
