//! The secrets of the corpus, in every text of a capsule: none of them goes out.

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::*;
use crate::id::EntryId;
use crate::redact::secret_samples::{SecretSample, leaks, one_of_each};

/// One with the text wherever somebody wrote one.
fn saying(text: &str) -> Capsule {
    let one = || Some(said(text));
    let some = || vec![said(text)];
    let word = || text.to_owned();
    let mut full = capsule();
    full.title = word();
    (full.goal, full.outcome, full.hypothesis) = (one(), one(), one());
    (full.constraints, full.decisions, full.assumptions) = (some(), some(), some());
    (full.questions, full.next) = (some(), some());
    full.handoffs = vec![CapsuleHandoff {
        id: EntryId::new("e1"),
        from: word(),
        to: word(),
        ask: word(),
        cut: None,
        state: HandoffState::Other(word()),
        more: Map::new(),
    }];
    full.touched = vec![CapsuleTouched {
        path: word(),
        op: TouchOp::Write,
        sha256: None,
        unread: None,
        masked: None,
        by: word(),
        added: None,
        removed: None,
        more: Map::new(),
    }];
    full.verification = vec![CapsuleRun {
        name: word(),
        cmd: Some(word()),
        status: OpenWord::of(word()),
        verified: true,
        exit_code: None,
        duration_ms: None,
        tree: None,
        current: true,
        flaky: None,
        output_sha256: None,
        line: None,
        more: Map::new(),
    }];
    full.not_run = vec![word()];
    full.findings = vec![CapsuleFinding {
        external_id: word(),
        severity: word(),
        state: word(),
        path: Some(word()),
        start_line: None,
        line: None,
        title: word(),
        url: Some(word()),
        more: Map::new(),
    }];
    full.git = Some(CapsuleGit {
        commit: None,
        branch: Some(word()),
        tree: None,
        changed: 0,
        ahead: None,
        behind: None,
        diff_stat: DiffStat::default(),
        remote: Some(word()),
        root: None,
        folder: Some(word()),
        late: None,
        more: Map::new(),
    });
    full.left_out = vec![CapsuleLeftOut::new(
        CapsuleSection::Other(word()),
        1,
        word(),
    )];
    full.origin.project = word();
    full.redaction.files = vec![word()];
    full
}

/// The capsule's own texts as they go out, and what each target is told.
fn going_out(capsule: &Capsule) -> Vec<(&'static str, String)> {
    let mut texts = String::new();
    push_texts(&mut texts, &serde_json::to_value(capsule).unwrap());
    let changed = |file: &CapsuleTouched| ChangedFile {
        path: file.path.clone(),
        by: None,
    };
    let mut out = vec![("the file", texts)];
    for target in RenderTarget::ALL {
        let terms = RenderTerms {
            target,
            stands: &StandsNow {
                changed: capsule.touched.iter().map(changed).collect(),
                ..StandsNow::plain(Freshness::Touched)
            },
            is_foreign: false,
            chars_max: usize::MAX,
            found: &[],
        };
        let rendering = Rendering::of(capsule, terms);
        assert_eq!(rendering.left_out, []);
        out.push((target.form().name, rendering.text));
    }
    out
}

fn push_texts(texts: &mut String, value: &Value) {
    match value {
        Value::String(text) => {
            texts.push_str(text);
            texts.push('\u{1}');
        }
        Value::Array(items) => items.iter().for_each(|item| push_texts(texts, item)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            texts.push_str(key);
            texts.push('\u{1}');
            push_texts(texts, member);
        }),
        _ => {}
    }
}

fn masked(mut capsule: Capsule) -> Capsule {
    CapsuleMask::new(&REDACTOR, AT).mask(&mut capsule);
    capsule
}

#[test]
fn no_secret_of_the_corpus_is_in_a_capsule_or_in_what_a_target_is_told() {
    let samples = one_of_each();
    let ours = going_out(&masked(saying("")));
    let mut unmasked = Vec::new();
    for SecretSample {
        kind,
        text,
        secrets,
        around,
    } in &samples
    {
        let alone = REDACTOR.redact_text(text).0;
        let is_masked = |secret: &&String| !leaks(&alone, around, secret);
        let (secrets, left): (Vec<&String>, Vec<_>) = secrets.iter().partition(is_masked);
        if !left.is_empty() {
            unmasked.push(&**kind);
        }
        let out = going_out(&masked(saying(text)));
        for ((place, told), (_, ours)) in out.iter().zip(&ours) {
            let around = format!("{around}\u{1}{ours}");
            for secret in &secrets {
                assert!(!leaks(told, &around, secret), "{kind}, {place}: {told}");
            }
        }
    }
    assert!(samples.len() > 200, "{}", samples.len());
    assert_eq!(unmasked, [] as [&str; 0]);
}

/// What is taken along is looked at as it is, and a file in which anything would be masked stays out.
#[test]
fn a_file_with_a_secret_of_the_corpus_is_known_as_one() {
    let mask = CapsuleMask::new(&REDACTOR, AT);
    for SecretSample { kind, text, .. } in &one_of_each() {
        assert!(mask.masks(text), "{kind}: {text}");
    }
}

/// What is not masked is left in, so that the test above looks where the texts are.
#[test]
fn the_texts_that_are_looked_through_are_all_of_a_capsule() {
    let told = going_out(&saying("plums"));
    let (_, file) = &told[0];
    let mut texts = 0;
    saying("plums").each_text(&mut |_| texts += 1);
    assert_eq!(file.matches("plums").count(), texts);
    for (target, text) in &told[1..] {
        assert!(text.matches("plums").count() >= 15, "{target}: {text}");
    }
}
