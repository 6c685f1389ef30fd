#![allow(clippy::unwrap_used, reason = "tests")]

mod faulty_file;
mod support;

mod append;
mod belief;
mod checkpoint;
mod crashes;
mod every_fault;
mod fact_order;
mod faults;
mod formats;
mod heads;
mod hostile;
mod open;
mod page;
mod retries;
mod tamper;
mod tamper_anywhere;
mod whole;
mod window;
