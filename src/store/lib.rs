//! The disk: where files are, the ledger, the queue, the registry, the owner's lock.
//!
//! Knows `ctxrelay-core`; knows nothing of sockets and agents. Everything here blocks: async
//! callers run it on a thread of its own.

pub mod blobs;
pub mod capsules;
pub mod child;
pub mod config;
pub mod contextrelay3;
pub mod derived;
pub mod dirs;
pub mod disk_space;
pub mod erase;
pub mod failed;
mod file_lock;
mod file_stamp;
mod hashed_file;
pub mod head;
pub mod kept_file;
pub mod kept_sessions;
mod latest;
mod latest_thread;
pub mod ledger;
pub mod mend;
pub mod operator_key;
pub mod operator_socket;
pub mod owner;
pub mod published;
pub mod publisher;
pub mod queue;
pub mod registry;
pub mod sealed_way;
pub mod search;
pub mod secrets;
pub mod sentinel;
pub mod session;
pub mod shown_reading;
pub mod signer;
pub mod state_owner;
pub mod text_sweep;
pub mod trust;
pub mod unsent;
pub mod user_config;
pub mod user_file;
pub mod work_folders;
pub mod write_probe;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
