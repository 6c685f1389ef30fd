use ed25519_dalek::{Signer as _, SigningKey};
use proptest::prelude::*;

use super::*;
use crate::entry::DecisionSignature;
use crate::hex::hex;
use crate::id::{EntryId, Seq};
use crate::redact::Redactor;
use crate::signer::{KEY_BYTES, Signer};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; KEY_BYTES])
}

fn signer(key: &SigningKey) -> Signer {
    Signer::new(key.verifying_key().as_bytes())
}

fn sign(key: &SigningKey, bytes: &[u8]) -> String {
    hex(&key.sign(bytes).to_bytes())
}

fn notice(key: &SigningKey) -> SigningNotice {
    let signer = signer(key);
    SigningNotice::sign(signer, None, |bytes| Ok::<_, ()>(sign(key, bytes))).unwrap()
}

fn on(key: &SigningKey) -> SigningChange {
    let notice = notice(key);
    SigningChange::On { notice }
}

fn state(key: &SigningKey) -> SigningState {
    let mut state = SigningState::after(None, on(key), Seq(1)).unwrap().unwrap();
    state.head = Some("line".to_owned());
    state
}

fn statement<'a>(proposal: &'a EntryId, head: &'a str) -> DecisionStatement<'a> {
    DecisionStatement {
        project: None,
        head,
        proposal,
        tree: "tree",
        approved: true,
    }
}

#[test]
fn what_is_signed_is_written_in_one_way_for_ever() {
    let id = EntryId::new("p1");
    let text = String::from_utf8(statement(&id, "abc").to_bytes()).unwrap();
    assert_eq!(
        text,
        "ctxrelay decision v1\nhead 3:abc\nproposal 2:p1\ntree 4:tree\nverdict 8:approved\n"
    );
    let signer = signer(&key(1));
    let written =
        |statement: SigningStatement<'_>| String::from_utf8(statement.to_bytes()).unwrap();
    assert_eq!(
        written(SigningStatement::On {
            signer: &signer,
            place: None
        }),
        format!("ctxrelay signing v1\non 64:{}\n", signer.as_str())
    );
    assert_eq!(
        written(SigningStatement::Off { head: "h" }),
        "ctxrelay signing v1\nhead 1:h\noff 0:\n"
    );
}

#[test]
fn a_signature_is_not_masked_where_a_secret_would_be() {
    let key = key(3);
    let signature = DecisionSignature {
        signer: signer(&key),
        head: hex(&[0xab; 32]),
        value: sign(&key, b"x"),
    };
    let decision = serde_json::json!({
        "finality": {"signature": signature},
        "meta": {META: on(&key)},
    });
    let text = decision.to_string();
    assert_eq!(Redactor::default().redact_text(&text).0, text);
}

#[test]
fn signing_changes_only_by_the_key_that_signs() {
    let (old, new) = (key(1), key(2));
    let is = state(&old);
    let replaced = |by: &SigningKey, head: &str| {
        let signer = signer(&new);
        let statement = SigningStatement::Replaced {
            head,
            place: None,
            signer: &signer,
        };
        SigningChange::Replaced {
            notice: notice(&new),
            value: sign(by, &statement.to_bytes()),
        }
    };
    let off = |by: &SigningKey, head: &str| SigningChange::Off {
        value: sign(by, &SigningStatement::Off { head }.to_bytes()),
    };
    let after = |change| SigningState::after(Some(&is), change, Seq(9));
    assert_eq!(after(off(&old, "line")), Ok(None));
    let changed = after(replaced(&old, "line")).unwrap().unwrap();
    assert_eq!((changed.notice, changed.since), (notice(&new), Seq(9)));
    // Said again, as a new session says it, it changes nothing.
    assert_eq!(after(on(&old)), Ok(Some(is.clone())));
    for forged in [
        on(&new),
        off(&new, "line"),
        off(&old, "an earlier line"),
        replaced(&new, "line"),
        replaced(&old, "an earlier line"),
    ] {
        assert_eq!(after(forged.clone()), Err(SigningRefused), "{forged:?}");
    }
    let SigningChange::On { notice } = on(&old) else {
        panic!("not on");
    };
    let claimed = SigningNotice {
        place: None,
        signer: signer(&new),
        value: notice.value,
    };
    let claimed = SigningChange::On { notice: claimed };
    assert_eq!(
        SigningState::after(None, claimed, Seq(1)),
        Err(SigningRefused)
    );
    assert_eq!(
        SigningState::after(None, off(&old, "line"), Seq(1)),
        Err(SigningRefused)
    );
}

#[test]
fn keys_are_told_apart_by_their_fingerprints() {
    let (one, other) = (signer(&key(1)), signer(&key(2)));
    assert_ne!(one.fingerprint(), other.fingerprint());
    assert_eq!(one.fingerprint().len(), 39);
    let odd: Signer = serde_json::from_str("\"no key\"").unwrap();
    assert_eq!(odd.fingerprint(), "no key");
    assert!(!odd.verifies(b"", &sign(&key(1), b"")));
}

proptest! {
    #[test]
    fn a_byte_changed_anywhere_is_refused(
        seed in any::<[u8; 32]>(),
        head in "[0-9a-f]{64}",
        proposal in "\\PC{1,40}",
        tree in "[0-9a-f]{40}",
        approved in any::<bool>(),
        at in any::<prop::sample::Index>(),
        flip in 1_u8..=255,
    ) {
        let key = SigningKey::from_bytes(&seed);
        let proposal = EntryId::new(proposal);
        let statement = DecisionStatement { project: None, head: &head, proposal: &proposal, tree: &tree, approved };
        let bytes = statement.to_bytes();
        let value = sign(&key, &bytes);
        let signer = signer(&key);
        prop_assert!(signer.verifies(&bytes, &value));

        let mut changed = bytes.clone();
        let place = at.index(changed.len());
        changed[place] ^= flip;
        prop_assert!(!signer.verifies(&changed, &value));
        for (text, is_key) in [(value.clone(), false), (signer.as_str().to_owned(), true)] {
            let mut text = text.into_bytes();
            let place = at.index(text.len());
            text[place] = text[place].wrapping_add(flip);
            let text = String::from_utf8_lossy(&text).into_owned();
            let (by, value) = match is_key {
                true => (serde_json::from_value(serde_json::json!(text)).unwrap(), value.clone()),
                false => (signer.clone(), text),
            };
            prop_assert!(!by.verifies(&bytes, &value));
        }
    }

    #[test]
    fn two_statements_are_never_the_same_bytes(
        one in ["\\PC{0,12}", "\\PC{0,12}", "\\PC{0,12}"],
        other in ["\\PC{0,12}", "\\PC{0,12}", "\\PC{0,12}"],
        verdicts in any::<[bool; 2]>(),
    ) {
        prop_assume!(one != other || verdicts[0] != verdicts[1]);
        let bytes = |[head, proposal, tree]: &[String; 3], approved| {
            let proposal = EntryId::new(proposal.as_str());
            DecisionStatement { project: None, head, proposal: &proposal, tree, approved }.to_bytes()
        };
        prop_assert_ne!(bytes(&one, verdicts[0]), bytes(&other, verdicts[1]));
    }
}
