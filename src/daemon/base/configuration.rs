//! [`Configuration`]: the `config.json` in force.

use std::time::Duration;

use crate::core::policy::{PolicyRules, SignOffMode};
use crate::core::snapshot::GateInForce;
use crate::store::config::Loaded;
use crate::store::dirs::UserDirs;
use crate::wire::config::{Config, ExtractKeys, Gate, OnStart, ShareMode, policy};

/// The settings of `config.json`; their defaults until the builder has read it.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Configuration {
    user: Option<UserDirs>,
    config: Config,
    /// The trusted settings could not be read since the daemon began, so the required gates are
    /// unknown.
    is_trust_unknown: bool,
}

/// The deadlines of a message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::daemon) struct DeliveryTimeouts {
    /// An idle Claude that was notified and does nothing for this long was not reached, ms.
    pub(in crate::daemon) idle_ms: i64,
    /// A message without an attempt for this long expires, ms; `None`: never.
    pub(in crate::daemon) expiry_ms: Option<i64>,
}

impl Configuration {
    /// What the daemon starts with. `user`: where trust lies.
    pub(in crate::daemon) fn new(user: UserDirs, loaded: &Loaded) -> Self {
        Self {
            user: Some(user),
            config: loaded.config.clone(),
            is_trust_unknown: loaded.trust_lost.is_some(),
        }
    }

    /// The file says this now.
    pub(in crate::daemon) fn replace(&mut self, config: Config) {
        self.config = config;
        self.is_trust_unknown = false;
    }

    pub(in crate::daemon) fn is_trust_unknown(&self) -> bool {
        self.is_trust_unknown
    }

    /// Where trust lies; `None` until the configuration was read.
    pub(in crate::daemon) fn user(&self) -> Option<&UserDirs> {
        self.user.as_ref()
    }

    pub(in crate::daemon) fn delivery_timeouts(&self) -> DeliveryTimeouts {
        let keys = &self.config.delivery;
        let ms = |seconds: u64| i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
        DeliveryTimeouts {
            idle_ms: ms(keys.idle_seconds.get()),
            expiry_ms: Some(ms(keys.expire_seconds.get())).filter(|expiry| *expiry > 0),
        }
    }

    /// How often the agents of a pair may answer each other alone; `None`: for ever.
    pub(in crate::daemon) fn answers_max(&self) -> Option<u32> {
        self.config.relay.answers_max()
    }

    /// The gates that the operator trusts.
    pub(in crate::daemon) fn gates(&self) -> &[Gate] {
        &self.config.gates
    }

    /// The same, for who looks at a proposal, and what among them cannot be run.
    pub(in crate::daemon) fn told_gates(&self) -> Vec<GateInForce> {
        self.config.gates_in_force()
    }

    /// The operator's rules for the agents.
    pub(in crate::daemon) fn policy(&self) -> PolicyRules {
        policy(&self.config)
    }

    /// Who says that work is done.
    pub(in crate::daemon) fn sign_off(&self) -> SignOffMode {
        self.config.finality.mode
    }

    /// Whether an agent is reminded that it has not said for long what it is at.
    pub(in crate::daemon) fn reminds(&self) -> bool {
        self.config.continuity.remind
    }

    /// Whether a model is asked what an agent is at that does not say it, and how.
    pub(in crate::daemon) fn extract(&self) -> Option<&ExtractKeys> {
        let keys = &self.config.continuity.extract;
        (keys.every_turns.get() > 0).then_some(keys)
    }

    /// Whether an agent that begins is told what the record holds of its work.
    pub(in crate::daemon) fn tells_at_start(&self) -> bool {
        self.config.continuity.on_start == OnStart::Short
    }

    /// Whether each agent is given the rules of the files that it does not read.
    pub(in crate::daemon) fn shares_rules(&self) -> bool {
        self.config.instructions.share == ShareMode::Missing
    }

    /// After how long a detached daemon ends that nobody needs.
    pub(in crate::daemon) fn idle_shutdown(&self) -> Duration {
        Duration::from_secs(self.config.idle_shutdown_seconds.get())
    }
}
