//! Dumb parts: they know styles and widths, but no pane and no overlay.

mod field;
mod frame;
mod line;
mod list;

pub(crate) use field::TextField;
pub(crate) use frame::{beside, draw_frame, draw_thumb, mark_room};
pub(crate) use line::{blank, fit_line, join, spans_of, spread, width_of};
pub(crate) use list::{ListState, RowLines};
