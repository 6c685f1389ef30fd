//! [`update`]: a message in, wishes out. The match delegates; each file is one way in.

mod applies;
mod attend;
mod message;
mod mouse;
mod moving;
mod opening;
mod overlay_key;
mod own_files;
mod perform;

pub(crate) use applies::applies;
pub use message::update;
