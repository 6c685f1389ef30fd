//! [`OperatorKeys`]: how the operator decides, as set in `config.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounded::Bounded;

/// Keys of `operator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct OperatorKeys {
    /// Whether decisions, trust, clearing and release gates are signed by a key outside of the
    /// project. Counts only as the operator last trusted it.
    pub signing: SigningMode,
    /// For how many minutes the deck keeps the unlocked key in memory; 0: for one signature.
    pub unlock_minutes: Bounded<0, 480, 5>,
}

/// By what decisions are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SigningMode {
    /// By nothing.
    #[default]
    Off,
    /// By a key under a passphrase: `ctxrelay operator key new`.
    Passphrase,
    /// By the person's own SSH key: `ctxrelay operator key new --ssh`.
    Ssh,
}
