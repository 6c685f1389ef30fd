//! A person's own SSH key: verifies what `ssh-keygen -Y sign` makes, without running `ssh-keygen`.

use ssh_encoding::{Decode as _, Encode as _};
use ssh_key::{Algorithm, HashAlg, PublicKey, SshSig};

/// For what these signatures are: one that was made for something else counts for nothing.
pub const SSH_NAMESPACE: &str = "ctxrelay";

/// What such a key begins with as text, before the hex digits of its wire form.
pub(super) const PREFIX: &str = "ssh:";

/// Behind the signature of a security key: a byte of flags and a counter.
const TRAILER_BYTES: usize = 5;

/// The flag for a person who touched it.
const TOUCHED: u8 = 1;

/// Why a text is no key that can be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSshKey {
    /// It is something else.
    #[error("it is no public SSH key")]
    Unreadable,
    /// It is of a sort that this version cannot verify.
    #[error("it is no Ed25519 or P-256 key, with or without a security key")]
    OtherSort,
}

/// The bytes of a key as text: `ssh-ed25519 AAAA… comment`.
pub(super) fn key_bytes(text: &str) -> Result<Vec<u8>, NoSshKey> {
    let key = PublicKey::from_openssh(text.trim()).map_err(|_| NoSshKey::Unreadable)?;
    if !is_verifiable(&key) {
        return Err(NoSshKey::OtherSort);
    }
    key.to_bytes().map_err(|_| NoSshKey::Unreadable)
}

fn is_verifiable(key: &PublicKey) -> bool {
    matches!(
        key.algorithm(),
        Algorithm::Ed25519
            | Algorithm::SkEd25519
            | Algorithm::SkEcdsaSha2NistP256
            | Algorithm::Ecdsa {
                curve: ssh_key::EcdsaCurve::NistP256
            }
    )
}

/// What `ssh-keygen -l` shows of it.
pub(super) fn fingerprint(key: &[u8]) -> Option<String> {
    let key = PublicKey::from_bytes(key).ok()?;
    Some(key.fingerprint(HashAlg::Sha256).to_string())
}

/// As it stands in an `.pub` file.
pub(super) fn to_text(key: &[u8]) -> Option<String> {
    PublicKey::from_bytes(key).ok()?.to_openssh().ok()
}

/// Whether it waits for a touch each time.
pub(super) fn wants_touch(key: &[u8]) -> bool {
    let key = PublicKey::from_bytes(key);
    key.is_ok_and(|key| is_security_key(&key.algorithm()))
}

fn is_security_key(algorithm: &Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256
    )
}

/// The bytes of a signature as `ssh-keygen` prints it.
pub fn signature_of_armor(armor: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    SshSig::from_pem(armor).ok()?.encode(&mut bytes).ok()?;
    Some(bytes)
}

/// Whether this key signed these bytes for us; with a security key, after somebody touched it.
pub(super) fn verifies(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let key = PublicKey::from_bytes(key).ok().filter(is_verifiable);
    let mut rest = signature;
    let signature = SshSig::decode(&mut rest);
    let (Some(key), Ok(signature), true) = (key, signature, rest.is_empty()) else {
        return false;
    };
    let is_touched = || {
        let bytes = signature.signature_bytes();
        let flags = bytes.len().checked_sub(TRAILER_BYTES);
        flags.is_some_and(|at| bytes[at] & TOUCHED != 0)
    };
    (!is_security_key(&key.algorithm()) || is_touched())
        && key.verify(SSH_NAMESPACE, message, &signature).is_ok()
}

#[cfg(test)]
mod tests;
