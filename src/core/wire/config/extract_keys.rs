//! [`ExtractKeys`]: whether a model is asked what an agent is working on, as set in `config.json`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::bounded::Bounded;

/// The most that one question may cost, in US dollars.
const USD_MAX: f64 = 10.0;

/// Keys of `continuity.extract`. They count only as the operator last trusted them: what an agent
/// said goes to Claude's vendor, and each question costs tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtractKeys {
    /// When an agent has marked nothing of its work for so many turns, `claude -p` without tools is
    /// asked what its words say of it. 0: nobody is asked.
    pub every_turns: Bounded<0, 100, 0>,
    /// How often on one day (UTC), for both agents together.
    pub per_day: Bounded<0, 1_000, 20>,
    /// The model, as `claude --model` takes it.
    #[schemars(length(min = 1, max = 100))]
    pub model: String,
    /// A question that has cost more is ended, in US dollars as Claude Code reckons: it looks between two
    /// requests, of which a question makes one.
    pub max_usd: Usd,
}

impl Default for ExtractKeys {
    fn default() -> Self {
        Self {
            every_turns: Bounded::default(),
            per_day: Bounded::default(),
            model: "haiku".to_owned(),
            max_usd: Usd(50_000),
        }
    }
}

/// An amount of US dollars, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Usd(u64);

impl TryFrom<f64> for Usd {
    type Error = String;

    fn try_from(amount: f64) -> Result<Self, String> {
        match (0.0..=USD_MAX).contains(&amount) {
            true => Ok(Self((amount * 1e6).round() as u64)),
            false => Err(format!("to be 0 to {USD_MAX}")),
        }
    }
}

impl From<Usd> for f64 {
    fn from(amount: Usd) -> Self {
        amount.0 as Self / 1e6
    }
}

impl JsonSchema for Usd {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Usd".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": USD_MAX})
    }
}
