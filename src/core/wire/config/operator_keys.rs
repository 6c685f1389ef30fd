//! [`OperatorKeys`]: how the operator decides, as `config.json` has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::keys::Bounded;
use super::read::read;

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

/// What `operator` is among keys with power, dotted.
pub fn operator_keys(power: &Map<String, Value>) -> OperatorKeys {
    let Some(operator) = power.get("operator") else {
        return OperatorKeys::default();
    };
    let Value::Object(file) = json!({"operator": operator}) else {
        return OperatorKeys::default();
    };
    read(&file).0.operator
}

/// What `operator.signing` is among keys with power, dotted.
pub fn signing_mode(power: &Map<String, Value>) -> SigningMode {
    operator_keys(power).signing
}
