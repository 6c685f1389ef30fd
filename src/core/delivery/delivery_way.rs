//! [`DeliveryWay`]: by which way a message reaches an agent.

use super::Rung;
use crate::word::words;

words! {
    /// A way by which a message reaches an agent, as records and status name it: the rungs to
    /// Claude, and the two ways into Codex.
    pub enum DeliveryWay {
        /// A channel notification through Claude's bridge.
        Channel = "channel",
        /// The plugin's monitor, whose turn has the bodies handed over by a hook.
        Doorbell = "doorbell",
        /// A hook of Claude's handed it over.
        Hook = "hook",
        /// The agent fetched it.
        Pull = "pull",
        /// The queue of Codex's thread.
        Queue = "queue",
        /// Into Codex's running turn.
        Steer = "steer",
        /// None just now.
        None = "none",
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
    fn every_way_is_the_text_that_it_was_and_comes_back_from_it() {
        let texts: Vec<String> = DeliveryWay::ALL.iter().map(ToString::to_string).collect();
        let before = [
            "channel", "doorbell", "hook", "pull", "queue", "steer", "none",
        ];
        assert_eq!(texts, before);
        for (way, text) in DeliveryWay::ALL.iter().zip(before) {
            assert_eq!(DeliveryWay::from(text), *way);
        }
        for rung in [Rung::Channel, Rung::Doorbell, Rung::Hooks, Rung::Pull] {
            assert_eq!(DeliveryWay::from(rung).to_string(), rung.as_str());
        }
        assert_eq!(DeliveryWay::default().to_string(), "");
    }
}
