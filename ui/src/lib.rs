//! The screen of `ctxrelay`: [`DeckView`](model::DeckView) in, [`Effect`]s out.
//!
//! ```text
//!   terminal ──► Msg ──► update(&mut Deck, Msg) ──► Vec<Effect> ──► caller
//!   daemon   ──► Msg::View          │
//!                                   ▼
//!                          view(&Deck, &mut Frame)
//! ```
//!
//! Invariants: this crate knows no daemon, no socket, no file and no clock; it never reads the
//! time ([`DeckView`](model::DeckView) and [`Msg::Tick`] carry it). [`Deck`] holds the state
//! of the *screen* only: focus, selection, scroll, overlays. Text of the view is hostile and goes
//! through [`sanitize`] before it reaches a cell. Colours are roles of a [`theme`], keys are data
//! of a [`keymap`].

pub mod action;
mod applies;
mod banner;
mod can_act_on;
mod clock_change;
mod counted_seconds;
mod deck;
mod detail_state;
mod drafts;
pub mod effect;
mod fetched_entries;
mod finding_ruling;
mod fuzzy;
pub mod glyph;
mod hint_bar;
mod inbox_rows;
pub mod key;
pub mod keymap;
mod layout;
mod leaving;
mod marked_words;
pub mod model;
pub mod msg;
mod named;
mod notice_bar;
mod notification;
mod overlays;
mod own_files;
pub mod pane;
mod panes;
mod passphrase;
mod place_words;
mod receipt;
mod record_search;
pub mod sanitize;
#[cfg(feature = "scenes")]
pub mod scenes;
mod selected;
pub mod source_error;
#[cfg(feature = "shots")]
pub mod svg;
mod task_list;
pub mod text;
pub mod theme;
mod timeline_state;
mod tracked_list;
mod unsent_text;
mod update;
mod view;
mod visited_places;
mod waiting_news;
mod wanted_text;
mod why_not;
mod widgets;
mod window_title;
mod work_rows;

pub use action::Action;
pub use deck::{Deck, Settings};
pub use effect::{AgentAction, Effect, NoteTag, QuitChoice, WhenBusy};
pub use glyph::Glyphs;
pub use keymap::Keymap;
pub use layout::SMALLEST_SCREEN;
pub use msg::Msg;
pub use notification::{NotificationSettings, NotificationWay, QuietHours};
pub use own_files::{FileProblem, OwnFiles};
pub use pane::Pane;
pub use passphrase::Passphrase;
pub use source_error::SourceError;
pub use theme::{Depth, Theme};
pub use unsent_text::UnsentText;
pub use update::update;
pub use view::view;
