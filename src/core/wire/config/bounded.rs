//! [`Bounded`]: a whole number of `config.json`, its bounds and its default.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number of seconds.
pub type Seconds<const MIN: u64, const MAX: u64, const DEFAULT: u64> = Bounded<MIN, MAX, DEFAULT>;

/// A number of megabytes, of 1,000,000 bytes each.
pub type Megabytes<const MIN: u64, const MAX: u64, const DEFAULT: u64> = Bounded<MIN, MAX, DEFAULT>;

/// A whole number from `MIN` to `MAX`; `DEFAULT` where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Bounded<const MIN: u64, const MAX: u64, const DEFAULT: u64>(u64);

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Bounded<MIN, MAX, DEFAULT> {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> Default for Bounded<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        const { assert!(MIN <= DEFAULT && DEFAULT <= MAX) };
        Self(DEFAULT)
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> TryFrom<u64>
    for Bounded<MIN, MAX, DEFAULT>
{
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        if (MIN..=MAX).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!("to be {MIN} to {MAX}"))
        }
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> From<Bounded<MIN, MAX, DEFAULT>> for u64 {
    fn from(number: Bounded<MIN, MAX, DEFAULT>) -> Self {
        number.0
    }
}

impl<const MIN: u64, const MAX: u64, const DEFAULT: u64> JsonSchema for Bounded<MIN, MAX, DEFAULT> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("From{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX})
    }
}
