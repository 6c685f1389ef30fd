//! Named example worlds: [`Scene`]. Snapshot tests, pictures and whoever wants to see the deck
//! without a daemon use the same ones.

mod agent_work;
mod agents;
mod asked;
mod far_back;
mod found;
mod pieces;
mod recovery;
mod worlds;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::deck::{Deck, Settings};
use crate::effect::Effect;
use crate::key::Key;
use crate::model::{Agent, DeckView};
use crate::msg::Msg;
use crate::update::update;
use crate::view::view;

pub use agent_work::{codex_rules, codex_work};
pub use asked::{asked, asked_user};
pub use far_back::far_back;
pub use found::found_entries;
pub use pieces::NOW_MS;
use pieces::{opened_handoff, thread};
pub use recovery::broken_work;
pub use worlds::{
    bad_lines, disconnected, empty_first_run, failed, gated, gates_running, handed_over, held_up,
    hostile_text, long_session, pair_at_work, quiet, ruled, stale, trouble,
};

/// A world and the keys that were pressed in it.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// Its name, also that of its pictures.
    pub name: &'static str,
    /// The world.
    pub world: fn() -> DeckView,
    /// What was typed, as [`Key::script`] reads it.
    pub keys: &'static str,
    /// What the deck is told after that.
    pub told: Option<fn() -> Msg>,
    /// The size that shows it best, columns and rows.
    pub size: (u16, u16),
}

/// The scenes, in the order in which a reader meets them.
pub const SCENES: &[Scene] = &[
    Scene {
        name: "pair_at_work",
        world: pair_at_work,
        keys: "",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "finality_card",
        world: pair_at_work,
        keys: "3<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "asked_card",
        world: asked,
        keys: "3<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "asked_answers",
        world: asked,
        keys: "3<enter>a",
        told: None,
        size: (80, 24),
    },
    Scene {
        name: "question_card",
        world: asked_user,
        keys: "3<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "stale",
        world: stale,
        keys: "3<enter>a",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "gates_running",
        world: gates_running,
        keys: "3<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "finality_gates",
        world: gated,
        keys: "3<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "approve",
        world: pair_at_work,
        keys: "3<enter>a",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "reject",
        world: pair_at_work,
        keys: "3<enter>xthe race test does not cover rotation",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "entry_open",
        world: pair_at_work,
        keys: "2j<enter>",
        told: Some(opened_handoff),
        size: (120, 40),
    },
    Scene {
        name: "agent_open",
        world: pair_at_work,
        keys: "1<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "composer",
        world: pair_at_work,
        keys: "hAdd a test that two refreshes at once share one request.",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "palette",
        world: pair_at_work,
        keys: ":",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "receipt",
        world: pair_at_work,
        keys: "",
        told: Some(|| Msg::Sent {
            to: Agent::Claude,
            line: 1204,
        }),
        size: (120, 40),
    },
    Scene {
        name: "palette_not_now",
        world: quiet,
        keys: ":app",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "notice",
        world: pair_at_work,
        keys: "n",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "help",
        world: pair_at_work,
        keys: "?",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "search",
        world: pair_at_work,
        keys: "/refresh",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "found",
        world: pair_at_work,
        keys: "/cookie",
        told: Some(|| Msg::Found(Box::new(found_entries()))),
        size: (120, 40),
    },
    Scene {
        name: "coordinator",
        world: ruled,
        keys: "c",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "clear",
        world: pair_at_work,
        keys: "C",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "clear_archive",
        world: pair_at_work,
        keys: "C<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "clear_discard",
        world: pair_at_work,
        keys: "Cj<enter>31",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "quit",
        world: pair_at_work,
        keys: "q",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "empty_first_run",
        world: empty_first_run,
        keys: "",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "quiet",
        world: quiet,
        keys: "",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "hostile_text",
        world: hostile_text,
        keys: "2",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "trouble",
        world: trouble,
        keys: "",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "ambiguous",
        world: trouble,
        keys: "3G<up><enter>vjv",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "far_back",
        world: far_back,
        keys: "2j",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "chips",
        world: pair_at_work,
        keys: "2fl<space>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "go_to",
        world: pair_at_work,
        keys: "#12 noon<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "bad_lines",
        world: bad_lines,
        keys: "2j<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "held_up",
        world: held_up,
        keys: "",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "limited_agent",
        world: held_up,
        keys: "1<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "stuck_agent",
        world: held_up,
        keys: "1j<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "stop_turn",
        world: held_up,
        keys: "1j<enter>i",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "disconnected",
        world: disconnected,
        keys: "",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "daemon_failed",
        world: failed,
        keys: "",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "narrow",
        world: pair_at_work,
        keys: "",
        told: None,
        size: (80, 24),
    },
    Scene {
        name: "narrow_inbox",
        world: pair_at_work,
        keys: "3",
        told: None,
        size: (80, 24),
    },
    Scene {
        name: "too_small",
        world: pair_at_work,
        keys: "",
        told: None,
        size: (46, 9),
    },
    Scene {
        name: "entry_beside",
        world: pair_at_work,
        keys: "2j",
        told: Some(opened_handoff),
        size: (120, 40),
    },
    Scene {
        name: "entry_beside_wide",
        world: pair_at_work,
        keys: "2j",
        told: Some(opened_handoff),
        size: (200, 50),
    },
    Scene {
        name: "entry_json",
        world: pair_at_work,
        keys: "2j<enter>r",
        told: Some(opened_handoff),
        size: (80, 24),
    },
    Scene {
        name: "card_beside",
        world: pair_at_work,
        keys: "3",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "agent_turn",
        world: pair_at_work,
        keys: "1j<enter>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "agent_state",
        world: pair_at_work,
        keys: "1jp",
        told: Some(agent_work::work),
        size: (120, 40),
    },
    Scene {
        name: "agent_packet",
        world: pair_at_work,
        keys: "1jpp",
        told: Some(agent_work::work),
        size: (120, 40),
    },
    Scene {
        name: "agent_told",
        world: pair_at_work,
        keys: "1jo",
        told: Some(agent_work::rules),
        size: (120, 40),
    },
    Scene {
        name: "recover",
        world: pair_at_work,
        keys: "R",
        told: Some(recovery::read),
        size: (120, 40),
    },
    Scene {
        name: "recover_claude",
        world: pair_at_work,
        keys: "RJ",
        told: Some(recovery::read),
        size: (120, 40),
    },
    Scene {
        name: "agent_beside",
        world: pair_at_work,
        keys: "1j",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "zoomed",
        world: pair_at_work,
        keys: "4z",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "tasks",
        world: handed_over,
        keys: "4",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "task_board",
        world: handed_over,
        keys: "4z<right>",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "handoffs",
        world: handed_over,
        keys: "5",
        told: None,
        size: (120, 40),
    },
    Scene {
        name: "thread",
        world: pair_at_work,
        keys: "3o",
        told: Some(thread),
        size: (120, 40),
    },
    Scene {
        name: "wide",
        world: long_session,
        keys: "",
        told: None,
        size: (200, 50),
    },
];

/// A scene by its name.
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
        let mut deck = Deck::new(settings).unwrap_or_else(|error| panic!("theme: {error}"));
        update(&mut deck, Msg::Resize(size.0, size.1));
        update(&mut deck, Msg::View(Box::new((self.world)())));
        keys(&mut deck, self.keys);
        if let Some(told) = self.told {
            update(&mut deck, told());
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
