//! [`CliContext`]: what every verb of a project receives.

use super::output::Output;
use crate::host::ProjectContext;

/// The project and where to print.
#[derive(Debug)]
pub struct CliContext {
    /// What is settled before anything runs.
    pub project: ProjectContext,
    /// Where to print.
    pub out: Output,
}
