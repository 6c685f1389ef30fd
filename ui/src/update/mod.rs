//! [`update`]: a message in, effects out. The match delegates; each file handles one kind of input.

mod agent_action;
mod agent_pages;
mod agreeing;
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
mod refuse;
mod reviewing;
mod searching;
mod taking_text;
mod tasking;
mod too_small;
mod topmost;
mod unlocking;

pub use message::update;
