//! The record under faults: processes killed, disks that fail or are full, files that are not what
//! they should be. Always with the real program.

mod altered;
mod bad_input;
pub mod belief;
mod chain;
mod ending;
mod full;
mod full_outside;
mod gone;
mod hung;
mod kill;
mod offline;
mod older_queue;
mod space;
mod syscalls;
