//! The panes: each turns its part of the view into rows of lines; `list_pane` draws and scrolls the
//! rows of all of them.

mod agents;
mod answers;
mod attention;
mod detail;
mod handoffs;
mod header;
mod inbox;
mod list_pane;
mod outcome;
mod party;
mod scroll_bar;
mod task_board;
mod tasks;
mod timeline;

pub(crate) use agents::{activity, last_note, since, tool_age};
pub(crate) use answers::draw_too_small;
pub(crate) use attention::{limit_words, silence_role, silence_words, tries};
pub(crate) use detail::{draw_detail, settle_detail};
pub(crate) use header::draw_header;
pub(crate) use list_pane::{
    WRAPPED, draw_pane, pane_counts, pane_title, row_at, rows_wanted, settle,
};
pub(crate) use outcome::outcome_line;
pub(crate) use party::direction;
pub(crate) use scroll_bar::{draw_scroll_bar, place_on_bar, scroll_bar};
pub(crate) use task_board::{board_at, draw_board, is_board, settle_board};
pub(crate) use tasks::handoff_age;
pub(crate) use timeline::{mark as timeline_mark, mark_needed as timeline_mark_needed};
