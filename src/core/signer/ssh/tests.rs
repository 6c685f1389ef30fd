use ed25519_dalek::{Signer as _, SigningKey};
use sha2::{Digest as _, Sha256};
use ssh_key::public::{Ed25519PublicKey, KeyData, SkEd25519};
use ssh_key::{Algorithm, HashAlg, PublicKey, Signature, SshSig};

use super::*;
use crate::hex::hex;
use crate::signer::Signer;

const MESSAGE: &[u8] = b"ctxrelay decision v2\n";

fn key() -> SigningKey {
    SigningKey::from_bytes(&[3; 32])
}

fn public() -> Ed25519PublicKey {
    Ed25519PublicKey(key().verifying_key().to_bytes())
}

fn signer(key: KeyData) -> Signer {
    let text = PublicKey::from(key).to_openssh().unwrap();
    Signer::from_openssh(&format!("{text} me@here\n")).unwrap()
}

/// As `ssh-keygen` makes it; `trailer`: what a security key adds.
fn signature(key_data: &KeyData, namespace: &str, trailer: Option<u8>) -> String {
    let message = SshSig::signed_data(namespace, HashAlg::Sha512, MESSAGE).unwrap();
    let (algorithm, bytes) = match trailer {
        None => (Algorithm::Ed25519, key().sign(&message).to_bytes().to_vec()),
        Some(flags) => {
            let trailer = [flags, 0, 0, 0, 7];
            let mut signed = Sha256::digest("ssh:").to_vec();
            signed.extend(trailer);
            signed.extend(Sha256::digest(&message));
            let mut bytes = key().sign(&signed).to_bytes().to_vec();
            bytes.extend(trailer);
            (Algorithm::SkEd25519, bytes)
        }
    };
    let signature = Signature::new(algorithm, bytes).unwrap();
    let signature = SshSig::new(key_data.clone(), namespace, HashAlg::Sha512, signature);
    let armor = signature.unwrap().to_pem(Default::default()).unwrap();
    hex(&signature_of_armor(&armor).unwrap())
}

#[test]
fn a_signature_counts_for_its_key_its_message_and_for_us_alone() {
    let data = KeyData::Ed25519(public());
    let signer = signer(data.clone());
    assert!(signer.is_ssh() && !signer.wants_touch());
    assert!(signer.fingerprint().starts_with("SHA256:"));
    let right = signature(&data, SSH_NAMESPACE, None);
    assert!(signer.verifies(MESSAGE, &right));
    assert!(!signer.verifies(b"another", &right));
    assert!(!signer.verifies(MESSAGE, &format!("{right}00")));
    assert!(!signer.verifies(MESSAGE, &right.to_uppercase()));
    // Made for a commit.
    assert!(!signer.verifies(MESSAGE, &signature(&data, "git", None)));
    // The same key as one of ours, and the other way round.
    assert!(!Signer::new(key().verifying_key().as_bytes()).verifies(MESSAGE, &right));
    let ours = hex(&key().sign(MESSAGE).to_bytes());
    assert!(!signer.verifies(MESSAGE, &ours));
}

#[test]
fn a_security_key_counts_only_where_somebody_touched_it() {
    let data = KeyData::SkEd25519(SkEd25519::new(public(), "ssh:"));
    let signer = signer(data.clone());
    assert!(signer.wants_touch());
    assert!(signer.verifies(MESSAGE, &signature(&data, SSH_NAMESPACE, Some(1))));
    assert!(signer.verifies(MESSAGE, &signature(&data, SSH_NAMESPACE, Some(5))));
    assert!(!signer.verifies(MESSAGE, &signature(&data, SSH_NAMESPACE, Some(0))));
    assert!(!signer.verifies(MESSAGE, &signature(&data, SSH_NAMESPACE, Some(4))));
}

#[test]
fn what_is_no_key_is_not_taken() {
    assert_eq!(Signer::from_openssh("hello"), Err(NoSshKey::Unreadable));
    assert_eq!(Signer::from_openssh(""), Err(NoSshKey::Unreadable));
    for junk in ["ssh:", "ssh:00", "ssh:zz"] {
        let signer: Signer = serde_json::from_value(junk.into()).unwrap();
        assert!(!signer.verifies(MESSAGE, "00"));
        assert_eq!(signer.fingerprint(), "no key");
    }
}
