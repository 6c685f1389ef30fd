//! [`OperatorKeys`]: how the operator decides, as `config.json` has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::read::read;

/// Keys of `operator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct OperatorKeys {
    /// Whether decisions on proposals are signed by a key outside of the project. Counts only as
    /// the operator last trusted it.
    pub signing: SigningMode,
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
}

/// What `operator.signing` is among keys with power, dotted.
pub fn signing_mode(power: &Map<String, Value>) -> SigningMode {
    let Some(operator) = power.get("operator") else {
        return SigningMode::Off;
    };
    let Value::Object(file) = json!({"operator": operator}) else {
        return SigningMode::Off;
    };
    read(&file).0.operator.signing
}
