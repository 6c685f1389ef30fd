//! [`Definition`]: what an agent is told about a tool.

use serde_json::{Map, Value};

#[derive(Debug)]
pub(super) struct Definition {
    pub(super) description: String,
    pub(super) schema: Map<String, Value>,
    /// It records nothing.
    pub(super) read_only: bool,
}
