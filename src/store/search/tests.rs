//! The index against a plain look through the file.
mod capsules;
mod faults;
mod same;
mod sealed;
mod support;
