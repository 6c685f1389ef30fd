//! What the daemon reported, as the deck keeps it: the folded record, its rows, and what else
//! changes.

pub(in crate::deck) mod approval_cards;
pub(in crate::deck) mod findings;
pub mod model;
pub(in crate::deck) mod own_messages;
pub(in crate::deck) mod queue_wait;
pub(in crate::deck) mod row_detail;
pub(in crate::deck) mod row_facts;
pub(in crate::deck) mod row_window;
pub(in crate::deck) mod row_words;
pub(in crate::deck) mod rows;
pub(in crate::deck) mod timeline;
pub(in crate::deck) mod unclear;
pub(in crate::deck) mod work;
