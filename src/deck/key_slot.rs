//! [`KeySlot`]: the key that signs decisions made on the screen, in memory for a while.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::clock::now_ms;
use crate::core::lock::lock;
use crate::core::signer::Signer;

/// A key that can sign.
pub trait SigningKey: Send + Sync {
    /// The signature of these bytes, in hex.
    fn sign(&self, statement: &[u8]) -> String;
}

/// A key that was unlocked, and for how long it may be kept.
pub struct UnlockedKey {
    pub key: Box<dyn SigningKey>,
    /// Zero: for one signature.
    pub keep: Duration,
}

impl fmt::Debug for UnlockedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnlockedKey")
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

/// Why nothing was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyFault {
    /// This key is in the place of the one that signs.
    Replaced(Signer),
    /// A sentence.
    Refused(String),
}

impl KeyFault {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Replaced(found) => {
                format!("the key file was replaced: it is {found}; recorded as an alarm")
            }
            Self::Refused(why) => why.clone(),
        }
    }
}

impl From<&str> for KeyFault {
    fn from(why: &str) -> Self {
        Self::Refused(why.to_owned())
    }
}

/// Where the key lies. Shared with the thread that draws, which forgets it before this process is
/// suspended.
#[derive(Clone, Default)]
pub struct KeySlot {
    state: Arc<Mutex<SlotState>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct SlotState {
    held: Option<HeldKey>,
    /// How often it was forgotten: a key that was being unlocked meanwhile is not kept.
    forgotten: u64,
}

struct HeldKey {
    key: Box<dyn SigningKey>,
    signer: Signer,
    until: Instant,
    /// The same on the wall clock, which goes on while the machine sleeps.
    until_ms: i64,
}

impl HeldKey {
    fn is_over(&self) -> bool {
        self.until <= Instant::now() || self.until_ms <= now_ms()
    }
}

impl fmt::Debug for KeySlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySlot")
    }
}

impl KeySlot {
    /// Forgets the key, and the one that is being unlocked.
    pub fn forget(&self) {
        let mut state = self.state();
        state.held = None;
        state.forgotten += 1;
        drop(state);
        self.changed.notify_one();
    }

    /// To be given to [`Self::keep`].
    pub(super) fn forgotten(&self) -> u64 {
        self.state().forgotten
    }

    /// Keeps a key, unless all was forgotten since `forgotten` was read.
    pub(super) fn keep(&self, signer: Signer, unlocked: UnlockedKey, forgotten: u64) {
        let mut state = self.state();
        if state.forgotten != forgotten || unlocked.keep.is_zero() {
            return;
        }
        let keep_ms = i64::try_from(unlocked.keep.as_millis()).unwrap_or(i64::MAX);
        state.held = Some(HeldKey {
            key: unlocked.key,
            signer,
            until: Instant::now() + unlocked.keep,
            until_ms: now_ms().saturating_add(keep_ms),
        });
    }

    /// Signs, where this very key is unlocked.
    pub(super) fn sign(&self, signer: &Signer, statement: &[u8]) -> Option<String> {
        self.expire();
        let state = self.state();
        let held = state.held.as_ref().filter(|held| held.signer == *signer)?;
        Some(held.key.sign(statement))
    }

    /// Whether this very key is unlocked.
    pub(super) fn is_unlocked(&self, signer: &Signer) -> bool {
        self.expire();
        let state = self.state();
        state
            .held
            .as_ref()
            .is_some_and(|held| held.signer == *signer)
    }

    /// Until when a key is unlocked: for the loop, and in ms since the epoch.
    pub(super) fn until(&self) -> Option<(Instant, i64)> {
        let state = self.state();
        let held = state.held.as_ref()?;
        Some((held.until, held.until_ms))
    }

    /// Forgets the key when its time is over.
    pub(super) fn expire(&self) {
        let mut state = self.state();
        if state.held.as_ref().is_some_and(HeldKey::is_over) {
            state.held = None;
        }
    }

    /// Waits until somebody had it forget.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        lock(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl SigningKey for Echo {
        fn sign(&self, statement: &[u8]) -> String {
            String::from_utf8_lossy(statement).into_owned()
        }
    }

    fn unlocked(keep: Duration) -> UnlockedKey {
        let key = Box::new(Echo);
        UnlockedKey { key, keep }
    }

    #[test]
    fn a_key_signs_for_its_signer_alone_until_it_is_forgotten_or_its_time_is_over() {
        let slot = KeySlot::default();
        let (signer, other) = (Signer::new(&[1; 32]), Signer::new(&[2; 32]));
        let minute = Duration::from_secs(60);
        slot.keep(signer.clone(), unlocked(minute), slot.forgotten());
        assert_eq!(slot.sign(&signer, b"yes").as_deref(), Some("yes"));
        assert_eq!(slot.sign(&other, b"yes"), None);
        slot.forget();
        assert_eq!(slot.sign(&signer, b"yes"), None);

        // It was being unlocked when all was forgotten.
        let before = slot.forgotten();
        slot.forget();
        slot.keep(signer.clone(), unlocked(minute), before);
        assert!(!slot.is_unlocked(&signer));
        // For one signature only.
        slot.keep(signer.clone(), unlocked(Duration::ZERO), slot.forgotten());
        assert!(!slot.is_unlocked(&signer));

        slot.keep(
            signer.clone(),
            unlocked(Duration::from_nanos(1)),
            slot.forgotten(),
        );
        assert!(!slot.is_unlocked(&signer));
        assert_eq!(slot.until(), None);
    }
}
