//! [`Signer`]: a public key.

mod ssh;

use std::fmt;

use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::hex::{hex, unhex};
pub use ssh::{NoSshKey, SSH_NAMESPACE, signature_of_armor};

/// Bytes of a public key.
pub const KEY_BYTES: usize = 32;

pub const SIGNATURE_BYTES: usize = 64;

/// An Ed25519 public key as 64 hex digits, or a person's SSH key as `ssh:` with the hex digits of its
/// wire form. What is read may be anything; it verifies nothing then.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signer(String);

impl Signer {
    /// The public key of these bytes.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(hex(key))
    }

    /// A person's SSH key, as it stands in its `.pub` file.
    ///
    /// # Errors
    ///
    /// When it is none, or of a sort that cannot be verified.
    pub fn from_openssh(text: &str) -> Result<Self, NoSshKey> {
        let key = ssh::key_bytes(text)?;
        Ok(Self(format!("{}{}", ssh::PREFIX, hex(&key))))
    }

    /// As it stands in a `.pub` file; `None` for a key of our own.
    pub fn to_openssh(&self) -> Option<String> {
        ssh::to_text(&self.ssh()?)
    }

    /// Whether it is a security key, which waits for a touch each time.
    pub fn wants_touch(&self) -> bool {
        self.ssh().is_some_and(|key| ssh::wants_touch(&key))
    }

    /// Whether it is a person's SSH key.
    pub fn is_ssh(&self) -> bool {
        self.0.starts_with(ssh::PREFIX)
    }

    fn ssh(&self) -> Option<Vec<u8>> {
        unhex(self.0.strip_prefix(ssh::PREFIX)?)
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a person compares: the first 128 bits of the key's SHA-256, in groups; of an SSH key what
    /// `ssh-keygen -l` shows.
    pub fn fingerprint(&self) -> String {
        if let Some(shown) = self.ssh().and_then(|key| ssh::fingerprint(&key)) {
            return shown;
        }
        let Some(key) = bytes::<KEY_BYTES>(&self.0) else {
            return "no key".to_owned();
        };
        let digest = hex(&Sha256::digest(key));
        let groups: Vec<&str> = (0..8).map(|at| &digest[4 * at..4 * at + 4]).collect();
        groups.join(":")
    }

    /// Whether this key signed these bytes. Strict: of a message there are no two signatures, and
    /// no key that many messages fit.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        if let Some(key) = self.ssh() {
            let signature = unhex(signature);
            return signature.is_some_and(|signature| ssh::verifies(&key, message, &signature));
        }
        let key = bytes(&self.0).and_then(|key| VerifyingKey::from_bytes(&key).ok());
        let signature = bytes::<SIGNATURE_BYTES>(signature).map(Signature::from);
        match (key, signature) {
            (Some(key), Some(signature)) => key.verify_strict(message, &signature).is_ok(),
            _ => false,
        }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fingerprint())
    }
}

/// The bytes of so many lower-case hex digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    unhex(text)?.try_into().ok()
}
