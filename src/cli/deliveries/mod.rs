//! Messages on their way: the queue, and closing what is over.

pub(in crate::cli) mod handoff;
pub(in crate::cli) mod queue;
pub(in crate::cli) mod queue_all;
pub(in crate::cli) mod queue_names;
