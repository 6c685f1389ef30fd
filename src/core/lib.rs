//! The domain: entries, what they fold to, and the rules of delivery.
//!
//! Pure: no IO, no clock, no runtime. Time and fresh ids are arguments.

pub mod agent;
pub mod alarm;
mod base64;
pub mod between_words;
pub mod capsule;
pub mod check_file;
pub mod context_fill;
pub mod context_meter;
pub mod continuity;
pub mod continuity_state;
pub mod cut_text;
pub mod delivery;
pub mod entry;
pub mod envelope;
pub mod fold;
pub mod hex;
pub mod hidden;
pub mod id;
pub mod in_quotes;
pub mod instructions;
pub mod kept_text;
pub mod line_hash;
pub mod live_turn;
pub mod lock;
pub mod managed_block;
pub mod marker;
#[cfg(test)]
mod more_cases;
pub mod panicked;
pub mod path_glob;
pub mod plain_value;
pub mod policy;
pub mod redact;
pub mod relay_cost;
pub mod resume_command;
pub mod review;
pub mod row_class;
pub mod signer;
pub mod signing;
pub mod snapshot;
pub mod status_line;
pub mod told_path;
pub mod trace;
pub mod whole;
pub mod wire;
pub mod word;
