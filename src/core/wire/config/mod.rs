//! `config.json`: [`Config`]: the meaning of its keys; [`read()`]: how the file is read;
//! [`power()`]: which of its keys count only as last trusted; [`migrate()`]: converts an older
//! product's file; [`schema()`].
//!
//! Pure: `store::config` reads the file and what the operator trusted.

mod bounded;
mod extract_keys;
mod gate;
mod gate_list;
mod keys;
mod migrate;
mod operator_keys;
mod policy;
mod policy_keys;
mod power;
mod read;
mod schema;
mod sorted;

#[cfg(test)]
mod tests;

pub use bounded::Seconds;
pub use extract_keys::{ExtractKeys, Usd};
pub use gate::{GATES_MAX, Gate, GateWhen, Isolation};
pub use gate_list::{GateList, UnreadableGate};
pub use keys::{
    Allowed, CodexKeys, Config, DeliveryKeys, InstructionKeys, OnStart, OwnRule, RedactionKeys,
    ShareMode, StorageKeys, WatchdogKeys,
};
pub use migrate::{Migrated, is_contextrelay_3, migrate};
pub use operator_keys::{OperatorKeys, SigningMode};
pub use policy::{keys_of, policy, trusted_policy};
pub use policy_keys::{
    AgentPolicyKeys, CollaborationKeys, FinalityKeys, PermissionKeys, PolicyKeys,
};
pub use power::{Waiting, digest, is_power_key, only_trusted, power, signing_mode, waiting};
pub use read::{Problem, changed_keys, own_rules, read, unknown_keys};
pub use schema::{KEPT_KEYS, schema};
