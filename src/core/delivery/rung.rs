//! [`Rung`]: a way to Claude.

use crate::entry::DeliveryWay;
use crate::word::words;

words! {
    /// The ways to Claude, best first, as they stand on the wire.
    #[derive(PartialOrd, Ord)]
    pub closed enum Rung {
        /// A channel notification through the bridge, with the body.
        Channel = "channel",
        /// A line of the plugin's monitor; the hook of the turn that it begins hands the bodies over.
        Doorbell = "doorbell",
        /// The context of other hooks.
        Hooks = "hook",
        /// It waits until Claude asks.
        Pull = "pull",
    }
}

impl Rung {
    /// The next worse one.
    pub fn below(self) -> Self {
        match self {
            Self::Channel => Self::Doorbell,
            Self::Doorbell => Self::Hooks,
            Self::Hooks | Self::Pull => Self::Pull,
        }
    }
}

impl From<Rung> for DeliveryWay {
    fn from(rung: Rung) -> Self {
        match rung {
            Rung::Channel => Self::Channel,
            Rung::Doorbell => Self::Doorbell,
            Rung::Hooks => Self::Hook,
            Rung::Pull => Self::Pull,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_is_the_same_word_as_the_way_that_it_is() {
        for rung in [Rung::Channel, Rung::Doorbell, Rung::Hooks, Rung::Pull] {
            assert_eq!(DeliveryWay::from(rung).to_string(), rung.as_str());
        }
    }
}
