//! [`Context`]: what every verb of a project is given.

use super::output::Output;
use crate::host::Setting;

/// The project's setting and where to print.
#[derive(Debug)]
pub struct Context {
    /// What is settled before anything runs.
    pub setting: Setting,
    /// Where to print.
    pub out: Output,
}
