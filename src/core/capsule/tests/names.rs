//! Names of users and hosts that systems give by themselves, and that are short.

use pretty_assertions::assert_eq;

use super::{AT, CapsuleMask, MadeAt, REDACTOR};

fn masked(user: &str, host: &str, text: &str) -> Option<String> {
    let at = MadeAt {
        user: Some(user),
        host: Some(host),
        ..AT
    };
    CapsuleMask::new(&REDACTOR, at).masked(text)
}

#[test]
fn a_name_that_is_everywhere_is_masked_where_it_names_the_user_or_the_host() {
    for (user, host, text, expected) in [
        (
            "root",
            "vm",
            "mail root@vm in ~root/x, foo@vm",
            "mail [REDACTED_USER]@[REDACTED_HOST] in ~[REDACTED_USER]/x, foo@[REDACTED_HOST]",
        ),
        (
            "build",
            "localhost",
            "mail build@box, ssh://build@box and ~build",
            "mail [REDACTED_USER]@box, ssh://[REDACTED_USER]@box and ~[REDACTED_USER]",
        ),
        (
            "jo",
            "docker",
            "jo@docker:~$ ls ~jo/x",
            "[REDACTED_USER]@[REDACTED_HOST]:~$ ls ~[REDACTED_USER]/x",
        ),
        ("git", "vm", "in ~git/x", "in ~[REDACTED_USER]/x"),
        (
            "v",
            "vm",
            "v@box of ~v/x",
            "[REDACTED_USER]@box of ~[REDACTED_USER]/x",
        ),
        ("v2", "vm", "ssh v2@box", "ssh [REDACTED_USER]@box"),
        (
            "root",
            "vm",
            "ssh root@10.0.0.5, root@vm",
            "ssh [REDACTED_USER]@10.0.0.5, [REDACTED_USER]@[REDACTED_HOST]",
        ),
        (
            "deploy",
            "vm",
            "scp x deploy@10.0.0.5:",
            "scp x [REDACTED_USER]@10.0.0.5:",
        ),
    ] {
        assert_eq!(masked(user, host, text).as_deref(), Some(expected));
        assert_eq!(masked(user, host, expected), None, "{expected}");
    }
}

#[test]
fn a_name_that_is_everywhere_stays_where_it_may_be_another_word() {
    for (user, host, text) in [
        ("root", "localhost", "the root cause is on localhost"),
        ("root", "localhost", "curl me@localhost"),
        ("git", "vm", "git clone git@github.com:acme/shop"),
        ("node", "vm", "npm install @types/node@latest esnode@next"),
        ("test", "vm", "first.test@example.com of test-vm"),
        ("jo", "v4", "!~jo & jo of actions/checkout@v4"),
        ("x", "2", "a ~x of left-pad@2"),
        ("v2", "v", "actions/checkout@v2 left-pad@v1"),
        ("node", "vm", "node@18.1.0 deploy@1.2.3"),
        ("deploy", "vm", "deploy@1.2.3"),
    ] {
        assert_eq!(masked(user, host, text), None, "{user}: {text}");
    }
}
