mod names;
mod secrets;

use std::sync::LazyLock;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::redact::Redactor;
use crate::wire::capsule::{arbitrary, write};
use crate::word::OpenWord;

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);

const AT: MadeAt<'_> = MadeAt {
    project: "/srv/code/shop",
    home: Some("/home/morgan"),
    user: Some("morgan"),
    host: Some("quiet-fox.local"),
    top: &[],
    own: &[],
};

fn said(text: &str) -> CapsuleStatement {
    CapsuleStatement {
        text: text.to_owned(),
        by: StatementAuthor::Codex,
        at: 1,
        cut: None,
        line: None,
        more: Map::new(),
    }
}

fn capsule() -> Capsule {
    Capsule::new(CapsuleId::new("cap_0123456789ab"), "Fix the login", 7)
}

/// How many items each section has.
fn sizes(capsule: &Capsule) -> Vec<(&'static str, u64)> {
    let size = |len: usize| u64::try_from(len).unwrap();
    vec![
        ("goal", u64::from(capsule.goal.is_some())),
        ("constraints", size(capsule.constraints.len())),
        ("decisions", size(capsule.decisions.len())),
        ("assumptions", size(capsule.assumptions.len())),
        ("hypothesis", u64::from(capsule.hypothesis.is_some())),
        ("questions", size(capsule.questions.len())),
        ("next", size(capsule.next.len())),
        ("handoffs", size(capsule.handoffs.len())),
        ("touched", size(capsule.touched.len())),
        ("verification", size(capsule.verification.len())),
        ("notRun", size(capsule.not_run.len())),
        ("findings", size(capsule.findings.len())),
    ]
}

fn left_out(capsule: &Capsule, what: &str) -> u64 {
    let mut left = capsule.left_out.iter();
    left.find(|left| left.what.as_str() == what)
        .map_or(0, |left| left.count)
}

proptest! {
    #[test]
    fn the_budget_holds_and_kept_and_left_out_are_all(
        full in arbitrary::capsule(),
        bytes_max in 3_000..9_000usize,
    ) {
        let budget = CapsuleBudget { bytes_max };
        let fitted = budget.fit(full.clone());
        prop_assume!(sizes(&fitted).iter().any(|(_, size)| *size > 0));
        // What comes along and the cited lines have limits of their own.
        let mut without = fitted.clone();
        (without.patch, without.outputs) = (None, Vec::new());
        without.origin.lines.clear();
        let (bytes, _) = write(&without).unwrap();
        prop_assert!(bytes.len() <= bytes_max, "{} of {bytes_max}", bytes.len());
        prop_assert_eq!(&fitted.patch, &full.patch);
        prop_assert_eq!(&fitted.outputs, &full.outputs);
        prop_assert_eq!(&fitted.origin.lines, &full.origin.lines);
        for ((what, all), (_, kept)) in sizes(&full).into_iter().zip(sizes(&fitted)) {
            let left = left_out(&fitted, what) - left_out(&full, what);
            prop_assert_eq!(kept + left, all, "{}", what);
        }
        // Names are the first ones, and take no room from anything.
        for (full, fitted) in full.left_out.iter().zip(&fitted.left_out) {
            prop_assert!(full.names.starts_with(&fitted.names));
        }
        let unnamed = |mut capsule: Capsule| {
            capsule.left_out.iter_mut().for_each(|left| left.names.clear());
            capsule
        };
        let bare = budget.fit(unnamed(full));
        prop_assert_eq!(unnamed(fitted), bare);
    }

    #[test]
    fn masking_again_changes_nothing(full in arbitrary::capsule()) {
        let mask = CapsuleMask::new(&REDACTOR, AT);
        let mut once = full;
        mask.mask(&mut once);
        let mut twice = once.clone();
        mask.mask(&mut twice);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn no_text_tells_where_and_by_whom_it_was_made(before in "[ -~]{0,8}", after in "[ -~]{0,8}") {
        let mask = CapsuleMask::new(&REDACTOR, AT);
        let text = format!("{before}/home/morgan/notes{after}");
        let masked = mask.masked(&text).unwrap();
        prop_assert!(!masked.contains("/home/morgan"), "{masked}");
        prop_assert_eq!(mask.masked(&masked), None);
    }
}

#[test]
fn what_weighs_more_stays_when_there_is_little_room() {
    let mut full = capsule();
    full.goal = Some(said("the goal"));
    full.constraints = vec![said("no new dependency")];
    full.assumptions = (0..200)
        .map(|n| said(&format!("assumption {n} {}", "x".repeat(60))))
        .collect();
    let fitted = CapsuleBudget { bytes_max: 4_000 }.fit(full);
    assert!(fitted.goal.is_some() && fitted.constraints.len() == 1);
    let kept = fitted.assumptions.len();
    assert!(kept > 0 && kept < 200, "{kept}");
    // The latest stay, in their order.
    assert!(
        fitted
            .assumptions
            .last()
            .unwrap()
            .text
            .starts_with("assumption 199 ")
    );
    let left = CapsuleLeftOut::new(
        CapsuleSection::Assumptions,
        200 - kept as u64,
        "ctxrelay capsule log cap_0123456789ab --all --json",
    );
    assert_eq!(fitted.left_out, [left]);
}

#[test]
fn the_worst_findings_stay_when_there_is_little_room() {
    let mut full = capsule();
    // As the record gives them: the worst first.
    full.findings = (0..100)
        .map(|n| CapsuleFinding {
            external_id: format!("gh:rc:{n}"),
            severity: if n < 3 { "critical" } else { "low" }.to_owned(),
            state: "open".to_owned(),
            path: None,
            start_line: None,
            line: None,
            title: format!("finding {n} {}", "x".repeat(60)),
            url: None,
            more: Map::new(),
        })
        .collect();
    let fitted = CapsuleBudget { bytes_max: 4_000 }.fit(full);
    let kept: Vec<&str> = fitted.findings.iter().map(|it| &*it.external_id).collect();
    assert!((3..100).contains(&kept.len()), "{kept:?}");
    let first: Vec<String> = (0..kept.len()).map(|n| format!("gh:rc:{n}")).collect();
    assert_eq!(kept, first);
}

#[test]
fn a_run_that_failed_has_room_before_those_that_passed() {
    let run = |name: &str, status: &str| CapsuleRun {
        name: name.to_owned(),
        cmd: Some("x".repeat(300)),
        status: OpenWord::of(status),
        verified: true,
        exit_code: Some(0),
        duration_ms: None,
        tree: None,
        current: true,
        flaky: None,
        output_sha256: None,
        line: None,
        more: Map::new(),
    };
    let mut full = capsule();
    full.verification = vec![run("red", "failed")];
    full.verification
        .extend((0..20).map(|n| run(&format!("green {n}"), "passed")));
    let fitted = CapsuleBudget { bytes_max: 4_000 }.fit(full);
    assert!(fitted.verification.len() < 21);
    assert_eq!(fitted.verification[0].name, "red");
}

#[test]
fn secrets_places_and_names_are_masked_and_counted() {
    let mask = CapsuleMask::new(&REDACTOR, AT);
    for (text, expected) in [
        ("see /srv/code/shop/src/a.rs:4", "see src/a.rs:4"),
        (
            "in /srv/code/shop, and /srv/code/shop-old/x",
            "in ., and [REDACTED_PATH]",
        ),
        ("-I/home/morgan/include it", "-I[REDACTED_PATH] it"),
        (
            "cc -I/opt/acme/include '-L/srv/client/lib' -lx",
            "cc -I[REDACTED_PATH] '-L[REDACTED_PATH]' -lx",
        ),
        (
            "shop_morgan, morgan_dev and morgan morgan",
            "shop_[REDACTED_USER], [REDACTED_USER]_dev and [REDACTED_USER] [REDACTED_USER]",
        ),
        (
            "?path=%2Fhome%2Fmorgan%2Fx&c=C:%5cmorgan",
            "?path=%2Fhome%2F[REDACTED_USER]%2Fx&c=C:%5c[REDACTED_USER]",
        ),
        (
            "cat '/tmp/a.log' ~/.netrc",
            "cat '[REDACTED_PATH]' [REDACTED_PATH]",
        ),
        (
            "open \"/home/ann/My Documents/Client X/offer one.docx\" first",
            "open \"[REDACTED_PATH]\" first",
        ),
        (
            "see `/Users/ann/Application Support/x y`, and it's '/tmp/a b' too",
            "see `[REDACTED_PATH]`, and it's '[REDACTED_PATH]' too",
        ),
        (
            "in /tmp/x and/or stderr, 2/3 of I/O",
            "in [REDACTED_PATH] and/or stderr, 2/3 of I/O",
        ),
        (
            "sh -c '/opt/t/run && make check'",
            "sh -c '[REDACTED_PATH] && make check'",
        ),
        (
            "`/opt/my tools/run --all x` \"/opt/a b | wc\" '/opt/a ; ls' '/tmp/a - b/c'",
            "`[REDACTED_PATH] --all x` \"[REDACTED_PATH] | wc\" '[REDACTED_PATH] ; ls' \
             '[REDACTED_PATH]'",
        ),
        (
            "\"/home/ann/Acme; Beta & Co/offer.docx\" and '/home/ann/Acme -old/a'",
            "\"[REDACTED_PATH]\" and '[REDACTED_PATH]'",
        ),
        (
            "rm /tmp/Client\\ X\\ Y /tmp/b",
            "rm [REDACTED_PATH] [REDACTED_PATH]",
        ),
        ("'C:\\Users\\x\\My Files\\a.txt' is", "'[REDACTED_PATH]' is"),
        (
            "get /tmp/My%20Files/a https://a.example/b",
            "get [REDACTED_PATH] https://a.example/b",
        ),
        (
            "\"/tmp/a is never closed",
            "\"[REDACTED_PATH] is never closed",
        ),
        ("file:///Users/x/y", "file://[REDACTED_PATH]"),
        (
            "vscode://file/home/bob/x.rs:3 vscode-insiders://file/opt/a cursor:///srv/b",
            "vscode://file[REDACTED_PATH]:3 vscode-insiders://file[REDACTED_PATH] \
             cursor://[REDACTED_PATH]",
        ),
        (
            "in /srv/data(old)/cust/list.txt, /home/bob/a,b/secret.txt:4 and /opt/[id]/{a,b}/c.",
            "in [REDACTED_PATH], [REDACTED_PATH]:4 and [REDACTED_PATH]",
        ),
        (
            "(/opt/a:/home/b:~/c;/tmp/d) [see](/tmp/a) /tmp/x(y/z) [/tmp/a](src/b.rs)",
            "([REDACTED_PATH]:[REDACTED_PATH]:[REDACTED_PATH];[REDACTED_PATH]) \
             [see]([REDACTED_PATH]) [REDACTED_PATH] [[REDACTED_PATH]](src/b.rs)",
        ),
        (
            "PATH=/opt/bin:/srv/code/shop/bin:/usr/bin /tmp/x,https://a.example/b",
            "PATH=[REDACTED_PATH]:bin:/usr/bin [REDACTED_PATH],https://a.example/b",
        ),
        (
            "cd C:\\Work (old)\\x D:\\a(b)\\c;D:\\d /opt/a(b)/Client\\ X(2)/y",
            "cd [REDACTED_PATH] (old)\\x [REDACTED_PATH];[REDACTED_PATH] [REDACTED_PATH]",
        ),
        ("C:\\Users\\x\\y.txt is", "[REDACTED_PATH] is"),
        (
            "morgan@quiet-fox: morgana",
            "[REDACTED_USER]@[REDACTED_HOST]: morgana",
        ),
        ("on quiet-fox.local", "on [REDACTED_HOST]"),
        ("a\u{202e}b\u{1b}[2J", "a\u{fffd}b\u{fffd}[2J"),
    ] {
        assert_eq!(mask.masked(text).as_deref(), Some(expected));
    }
    for text in [
        "GET /api/home/x",
        "https://a.example/home/x",
        "https://file/home/x",
        "#!/usr/bin/env",
        "a/tmp/b",
    ] {
        assert_eq!(mask.masked(text), None, "{text}");
    }
    let mut made = capsule();
    made.goal = Some(said("~/a and ~/b"));
    made.next = vec![said("password=hunter2hunter2")];
    made.git = Some(CapsuleGit {
        branch: Some("morgan/fix".to_owned()),
        ..CapsuleGit::default()
    });
    mask.mask(&mut made);
    let rules = &made.redaction.rules;
    assert_eq!(
        (rules["PATH"], rules["USER"], rules.len()),
        (2, 1, 3),
        "{rules:?}"
    );
    assert!(!made.next[0].text.contains("hunter2"));
}

#[test]
fn names_are_masked_however_they_are_written() {
    let at = MadeAt {
        user: Some("gudrun"),
        host: Some("Quiet-Fox.local"),
        ..AT
    };
    let mask = CapsuleMask::new(&REDACTOR, at);
    let found = mask.masked("Gudrun and GUDRUN on quiet-fox: a_Gudrun, gudruns");
    assert_eq!(
        found.as_deref(),
        Some("[REDACTED_USER] and [REDACTED_USER] on [REDACTED_HOST]: a_[REDACTED_USER], gudruns")
    );
    let at = MadeAt {
        user: Some("kim"),
        ..AT
    };
    let found = CapsuleMask::new(&REDACTOR, at).masked("ask Kim");
    assert_eq!(found.as_deref(), Some("ask [REDACTED_USER]"));
    // Of a project that has the name it is none of this machine's, in whatever letters.
    let own = ["Gudrun.md".to_owned()];
    let at = MadeAt {
        user: Some("gudrun"),
        own: &own,
        ..AT
    };
    assert_eq!(
        CapsuleMask::new(&REDACTOR, at).masked("see Gudrun.md"),
        None
    );
}

#[test]
fn a_user_with_the_name_of_a_part_of_a_mark_leaves_marks_as_they_are() {
    let at = MadeAt {
        user: Some("ACME"),
        ..AT
    };
    let mask = CapsuleMask::new(&REDACTOR, at);
    assert_eq!(
        mask.masked("[REDACTED_ACME_KEY] of ACME_x").as_deref(),
        Some("[REDACTED_ACME_KEY] of [REDACTED_USER]_x")
    );
}

#[test]
fn the_command_that_shows_the_rest_is_masked_for_no_user_and_other_words_in_its_place_are() {
    let at = MadeAt {
        user: Some("ctxrelay"),
        ..AT
    };
    let mut made = capsule();
    let of = CapsuleSection::Decisions;
    let command = CapsuleLeftOut::command(&made.id, &of);
    made.left_out = [&*command, "ask ctxrelay"]
        .map(|how| CapsuleLeftOut::new(of.clone(), 1, how.to_owned()))
        .into();
    CapsuleMask::new(&REDACTOR, at).mask(&mut made);
    let told: Vec<&str> = made.left_out.iter().map(|left| &*left.how).collect();
    assert_eq!(told, [&*command, "ask [REDACTED_USER]"]);
}

#[test]
fn a_user_or_host_with_a_name_that_is_a_word_is_masked_where_it_names_somebody() {
    let own = ["src", "lib", "billing", "morgan.rs"].map(str::to_owned);
    let masks = |user, host, text: &str| {
        let at = MadeAt {
            user: Some(user),
            host: Some(host),
            own: &own,
            ..AT
        };
        CapsuleMask::new(&REDACTOR, at).masked(text)
    };
    for text in [
        "Fix the api of the app",
        "app/models/user.rs",
        "npm install app@2.0 @api/client",
        "app: the api answers",
    ] {
        assert_eq!(masks("app", "api", text), None, "{text}");
    }
    for (text, expected) in [
        ("app@api:~$", "[REDACTED_USER]@[REDACTED_HOST]:~$"),
        ("in ~app/notes", "in ~[REDACTED_USER]/notes"),
        ("in /home/app/notes", "in [REDACTED_PATH]"),
    ] {
        assert_eq!(masks("app", "api", text).as_deref(), Some(expected));
    }
    // A short one joined by `_` is a part of another name, and stays a name where it stands alone.
    assert_eq!(masks("kim", "api", "kim_len of --kim_old"), None);
    let found = masks("kim", "api", "ask kim");
    assert_eq!(found.as_deref(), Some("ask [REDACTED_USER]"));
    // A name of the project's own is no word of somebody's machine.
    assert_eq!(
        masks("morgan", "billing", "billing: see src/morgan.rs"),
        None
    );
    let found = masks("morgan", "billing", "morgan@billing");
    assert_eq!(found.as_deref(), Some("[REDACTED_USER]@[REDACTED_HOST]"));
    // No word behind a path is a part of it, whether the project has a folder of that name or not.
    let text = "cp /tmp/out db/schema.sql lib/b.rs";
    let found = masks("x", "y", text);
    assert_eq!(
        found.as_deref(),
        Some("cp [REDACTED_PATH] db/schema.sql lib/b.rs")
    );
}

#[test]
fn a_home_folder_with_a_common_name_is_masked_where_it_is_one() {
    let at = MadeAt {
        project: "/code/main",
        home: Some("/root"),
        user: None,
        host: None,
        top: &[],
        own: &[],
    };
    let mask = CapsuleMask::new(&REDACTOR, at);
    for text in [
        "src/root/a.rs",
        "lib/code/b.rs",
        "lib/code/main/b.rs",
        "/rootfs",
        "GET /codes",
        "https://a/code/x",
    ] {
        assert_eq!(mask.masked(text), None, "{text}");
    }
    for (text, expected) in [
        (
            "/root/.ssh/id and /root",
            "[REDACTED_PATH] and [REDACTED_PATH]",
        ),
        ("see /code/other/x.rs", "see [REDACTED_PATH]"),
        ("in /code/main/src/a.rs", "in src/a.rs"),
        ("file:///code/x", "file://[REDACTED_PATH]"),
    ] {
        assert_eq!(mask.masked(text).as_deref(), Some(expected));
    }
}

#[test]
fn a_path_below_a_folder_that_only_this_machine_has_is_masked() {
    let top = ["data", "builds", "farm.1", "etc", "usr", "lib64", ""].map(str::to_owned);
    let at = MadeAt { top: &top, ..AT };
    let mask = CapsuleMask::new(&REDACTOR, at);
    for text in [
        "see /etc/hosts and /usr/lib/x",
        "GET /datasets/7",
        "https://a.example/data/x",
        "src/data/a.rs",
        "/farmX1/x",
        "in /data alone",
    ] {
        assert_eq!(mask.masked(text), None, "{text}");
    }
    for (text, expected) in [
        ("see /data/client/x.txt, and", "see [REDACTED_PATH], and"),
        ("/builds/o/r:/farm.1/b", "[REDACTED_PATH]:[REDACTED_PATH]"),
    ] {
        assert_eq!(mask.masked(text).as_deref(), Some(expected));
        assert!(mask.masks(text) && mask.masks_line(&json!({ "content": text })));
    }
}

#[test]
fn a_line_that_would_be_masked_today_is_known() {
    let mask = CapsuleMask::new(&REDACTOR, AT);
    let clean =
        json!({"schema": "v1", "id": "e1", "content": "all is well", "hash": "0".repeat(64)});
    assert!(!mask.masks_line(&clean));
    for content in [
        "first\n/home/morgan/x",
        "password=hunter2hunter2",
        "by morgan",
    ] {
        let line = json!({"schema": "v1", "id": "e1", "content": content});
        assert!(mask.masks_line(&line), "{content}");
    }
}
