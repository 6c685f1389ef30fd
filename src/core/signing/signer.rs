//! [`Signer`]: a public key.

use std::fmt;

use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Bytes of a public key.
pub const KEY_BYTES: usize = 32;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// An Ed25519 public key, as 64 hex digits. What is read may be anything; it verifies nothing then.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signer(String);

impl Signer {
    /// The public key of these bytes.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(hex(key))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a person compares: the first 128 bits of the key's SHA-256, in groups.
    pub fn fingerprint(&self) -> String {
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of so many lower-case hex digits: each value has one spelling.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
