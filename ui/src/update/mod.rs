//! [`update`]: a message in, wishes out. The match delegates; each file is one way in.

mod agent_action;
mod agent_pages;
mod agreeing;
mod applies;
mod coming_back;
mod coordinating;
mod following;
mod message;
mod mouse;
mod moving;
mod opening;
mod outdated;
mod overlay_key;
mod own_files;
mod perform;
mod recovering;
mod reviewing;
mod searching;
mod taking_text;
mod tasking;
mod too_small;
mod unlocking;
mod why_not;

pub(crate) use applies::{applies, selected_card};
pub use message::update;
pub(crate) use taking_text::WantedText;
pub(crate) use why_not::why_not;
