use serde_json::json;

use super::*;
use crate::testing::{Place, mode};
use ctxrelay_core::plain_value::nested_texts;
use ctxrelay_core::redact::Redactor;

fn write(place: &Place, text: &str) {
    std::fs::write(place.dirs.config(), text).unwrap();
}

fn loaded(place: &Place) -> Loaded {
    load(&place.dirs, &place.user)
}

#[test]
fn no_file_is_no_problem() {
    let place = Place::new();
    let loaded = loaded(&place);
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.notices(), Vec::<String>::new());
}

#[test]
fn a_file_that_is_none_is_named_and_the_defaults_count() {
    let place = Place::new();
    for (text, why) in [
        ("{", "not JSON (line 1, column 1)"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        (
            &format!("{{\"a\": \"{}\"}}", "x".repeat(300_000)),
            "larger than",
        ),
    ] {
        write(&place, text);
        let loaded = loaded(&place);
        assert!(loaded.file.is_none());
        assert_eq!(loaded.config, Config::default());
        assert!(loaded.notices()[0].contains(why), "{:?}", loaded.notices());
    }
    std::fs::remove_file(place.dirs.config()).unwrap();
    let elsewhere = place.dir.path().join("elsewhere.json");
    std::fs::write(&elsewhere, "{\"idleShutdownSeconds\": 99}").unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.dirs.config()).unwrap();
    let loaded = loaded(&place);
    assert_eq!(loaded.config, Config::default());
    assert!(loaded.notices()[0].contains("a link"));
}

#[test]
fn text_in_text_is_a_key_that_nobody_knows_and_ends_nothing() {
    let place = Place::new();
    write(&place, &format!("{{\"x\": {}}}", nested_texts(100)));
    let loaded = loaded(&place);
    assert!(loaded.file.is_some());
    assert_eq!(loaded.config, Config::default());
    assert!(adopt(&place.dirs).unwrap().is_none());
}

#[test]
fn the_allow_list_counts_once_it_is_trusted_and_no_longer_than_it_is_the_same() {
    let place = Place::new();
    let secret = format!("AKIA{}", "EXAMPLE7EXAMPLE7");
    let id = place.dirs.instance_id();
    let allow = |list: Value| write(&place, &json!({"redaction": {"allow": list}}).to_string());
    let survives = || {
        let redactor = Redactor::with(loaded(&place).rules);
        redactor.redact_text(&secret).1 == 0
    };
    allow(json!([secret]));
    assert!(!survives());
    let waits = loaded(&place).notices();
    assert!(waits[0].contains("redaction.allow waits"), "{waits:?}");
    // The sentence tells the key and not the value.
    assert!(!waits[0].contains(&secret));

    trust::write(&place.user, &id, loaded(&place).power(), 1).unwrap();
    assert_eq!(mode(&place.user.trust(&id)), 0o600);
    assert!(survives());
    assert_eq!(loaded(&place).notices(), Vec::<String>::new());

    allow(json!([{"pattern": ".*"}, secret]));
    assert!(survives());
    assert_eq!(loaded(&place).config.redaction.allow.len(), 1);
    assert_eq!(loaded(&place).waiting.len(), 1);

    allow(json!([]));
    assert!(!survives());
    assert_eq!(loaded(&place).waiting, []);

    allow(json!([secret]));
    assert!(survives());
    trust::forget(&place.user, &id).unwrap();
    trust::forget(&place.user, &id).unwrap();
    assert!(!survives());
}

#[test]
fn what_was_trusted_cannot_be_edited_by_hand() {
    let place = Place::new();
    let id = place.dirs.instance_id();
    write(&place, r#"{"redaction": {"allow": ["a"]}}"#);
    trust::write(&place.user, &id, loaded(&place).power(), 1).unwrap();
    let path = place.user.trust(&id);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("[\"a\"]", "[\"b\"]")).unwrap();
    let is_lost = || {
        let loaded = loaded(&place);
        assert!(loaded.config.redaction.allow.is_empty());
        assert!(loaded.notices()[0].contains("cannot be read"));
        trust::read(&place.user, &id).is_err()
    };
    assert!(is_lost());
    std::fs::write(&path, "{").unwrap();
    assert!(is_lost());
}

#[test]
fn trust_that_nobody_may_read_is_not_to_be_given_again() {
    let path = Path::new("/home/plum/trust/ctx_1.json");
    let denied = lost_trust(path, &io::ErrorKind::PermissionDenied.into());
    assert!(denied.contains("make /home/plum/trust/ctx_1.json readable"));
    assert!(!denied.contains("ctxrelay trust"), "{denied}");
    let damaged = lost_trust(path, &io::ErrorKind::InvalidData.into());
    assert!(damaged.contains("`ctxrelay trust`"), "{damaged}");
}

#[test]
fn an_older_products_file_is_taken_over_once_and_kept() {
    let place = Place::new();
    let text =
        r#"{ "instanceId": "ctx_0123456789ab",  "idleShutdownSeconds": 45, "odd": {"x": 1} }"#;
    write(&place, text);
    let Adopted { migrated, backup } = adopt(&place.dirs).unwrap().unwrap();
    assert_eq!(migrated.dropped, ["instanceId"]);
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), text);
    assert_eq!((mode(&backup), mode(&place.dirs.config())), (0o600, 0o600));
    let file = loaded(&place).file.unwrap();
    assert_eq!(file["odd"], json!({"x": 1}));
    assert_eq!(loaded(&place).config.idle_shutdown_seconds.get(), 45);
    assert!(adopt(&place.dirs).unwrap().is_none());

    write(&place, text);
    let second = adopt(&place.dirs).unwrap().unwrap().backup;
    assert_ne!(second, backup);
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), text);
}

#[test]
fn folders_that_were_open_are_closed_and_links_are_not_followed() {
    let place = Place::new();
    let open = |path: &Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    open(&place.dirs.relay);
    open(&place.dirs.sessions());
    let elsewhere = place.dir.path().join("elsewhere.json");
    std::fs::write(&elsewhere, "{}").unwrap();
    open(&elsewhere);
    std::os::unix::fs::symlink(&elsewhere, place.dirs.config()).unwrap();
    close_to_others(&place.dirs);
    assert_eq!(mode(&place.dirs.relay), 0o700);
    assert_eq!(mode(&place.dirs.sessions()), 0o700);
    assert_eq!(mode(&elsewhere), 0o755);
}

#[test]
fn a_file_that_is_none_takes_no_rule_away_that_was_kept() {
    let place = Place::new();
    let kept = place.dirs.state_file("redaction-rules.json");
    let masks = |loaded: &Loaded| {
        let redactor = Redactor::with(loaded.rules.clone());
        redactor.redact_text("see acme-12").1 == 1
    };
    let rules = json!({"redaction": {"rules": [{"name": "acme", "pattern": "acme-[0-9]+"}]}});
    write(&place, &rules.to_string());
    keep_rules(&place.dirs, &loaded(&place)).unwrap();
    assert_eq!(mode(&kept), 0o600);

    for broken in ["{", "[]", &format!("\u{feff}{rules}")] {
        write(&place, broken);
        let loaded = loaded(&place);
        assert!(masks(&loaded) && loaded.are_rules_of_before, "{broken}");
        let notices = loaded.notices();
        assert!(
            notices[0].ends_with("redaction rules of before count on"),
            "{notices:?}"
        );
        assert!(loaded.masking_doubt().is_some());
        // What is not known takes nothing away from what was.
        keep_rules(&place.dirs, &loaded).unwrap();
        assert!(kept.exists());
    }
    // A rule that is none takes no rule of before away, and one that was taken out is gone.
    write(
        &place,
        r#"{"redaction": {"rules": [{"name": "a", "pattern": "("}]}}"#,
    );
    keep_rules(&place.dirs, &loaded(&place)).unwrap();
    assert!(kept.exists() && !masks(&loaded(&place)));
    write(&place, "{}");
    keep_rules(&place.dirs, &loaded(&place)).unwrap();
    assert!(!kept.exists());
    write(&place, "{");
    assert!(!masks(&loaded(&place)) && !loaded(&place).are_rules_of_before);
    // What is no list of rules is none.
    std::fs::write(&kept, "{\"name\": 7}").unwrap();
    assert!(!loaded(&place).are_rules_of_before);
}
