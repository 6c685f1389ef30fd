//! One case or more for each rule: the secret goes, the mark names the rule, the rest stays.

use super::{REDACTOR, alnum, hexa, upper};
use crate::redact::secret_samples::{Draw, around, leaks, with_secrets};

/// Every way in which a secret without context stands in a text.
const AROUND: [(&str, &str); 14] = [
    ("", ""),
    ("use ", " for it"),
    ("(", ")"),
    ("\"", "\""),
    ("'", "',"),
    ("X=", "\n"),
    ("`", "`."),
    ("a\n", "\r\nb"),
    ("{\\\"k\\\": \\\"", "\\\"}"),
    ("a\\n", "\\nb"),
    ("a\\t", " b"),
    ("\u{1b}[32m", "\u{1b}[0m"),
    ("?next=a%3D", "%26b"),
    ("backup_", " b"),
];

pub(super) fn formats() -> Vec<(&'static str, String)> {
    let a = alnum;
    vec![
        ("ANTHROPIC_KEY", format!("sk-ant-api03-{}AA", a(93))),
        ("ANTHROPIC_KEY", format!("sk-ant-oat01-{}", a(60))),
        ("OPENAI_KEY", format!("sk-{}", a(48))),
        ("OPENAI_KEY", format!("sk-proj-{}_{}-x", a(60), a(20))),
        ("OPENAI_KEY", format!("sk-svcacct-{}", a(60))),
        ("OPENROUTER_KEY", format!("sk-or-v1-{}", hexa(64))),
        (
            "LANGSMITH_KEY",
            format!("lsv2_pt_{}_{}", hexa(32), hexa(10)),
        ),
        ("XAI_KEY", format!("xai-{}", a(80))),
        ("AI_PROVIDER_KEY", format!("gsk_{}", a(52))),
        ("AI_PROVIDER_KEY", format!("pplx-{}", a(48))),
        ("AI_PROVIDER_KEY", format!("r8_{}", a(37))),
        ("AI_PROVIDER_KEY", format!("nvapi-{}", a(64))),
        ("HUGGINGFACE_TOKEN", format!("hf_{}", a(34))),
        ("GITHUB_TOKEN", format!("ghp_{}", a(36))),
        ("GITHUB_TOKEN", format!("gho_{}", a(36))),
        ("GITHUB_TOKEN", format!("ghs_{}", a(36))),
        ("GITHUB_TOKEN", format!("github_pat_{}_{}", a(22), a(59))),
        ("GITLAB_TOKEN", format!("glpat-{}", a(20))),
        ("GITLAB_TOKEN", format!("gldt-{}", a(20))),
        ("GITLAB_TOKEN", format!("GR1348941{}", a(20))),
        ("ATLASSIAN_TOKEN", format!("ATATT3{}", a(186))),
        ("ATLASSIAN_TOKEN", format!("ATBB{}", a(32))),
        (
            "SLACK_TOKEN",
            format!("xoxb-123456789012-123456789012-{}", a(24)),
        ),
        (
            "SLACK_TOKEN",
            format!("xapp-1-A1B2C3D4E5F-1234567890123-{}", hexa(64)),
        ),
        (
            "WEBHOOK_URL",
            format!(
                "https://hooks.slack.com/services/T00000000/B00000000/{}",
                a(24)
            ),
        ),
        (
            "WEBHOOK_URL",
            format!(
                "https://discord.com/api/webhooks/123456789012345678/{}",
                a(68)
            ),
        ),
        ("DISCORD_TOKEN", format!("M{}.{}.{}", a(23), a(6), a(38))),
        ("TELEGRAM_TOKEN", format!("1234567890:AA{}", a(33))),
        ("AWS_ACCESS_KEY", format!("AKIA{}", upper(16))),
        ("AWS_TEMP_KEY", format!("ASIA{}", upper(16))),
        ("GOOGLE_KEY", format!("AIza{}", a(35))),
        ("GOOGLE_KEY", format!("GOCSPX-{}", a(28))),
        ("GOOGLE_KEY", format!("ya29.{}", a(100))),
        ("AZURE_SECRET", format!("{}8Q~{}", a(3), a(34))),
        ("CLOUD_KEY", format!("LTAI{}", a(20))),
        ("STRIPE_KEY", format!("sk_live_{}", a(24))),
        ("STRIPE_KEY", format!("rk_test_{}", a(24))),
        ("STRIPE_KEY", format!("whsec_{}", a(32))),
        ("PAYMENT_KEY", format!("sq0atp-{}", a(22))),
        ("PAYMENT_KEY", format!("rzp_live_{}", a(14))),
        ("SHOPIFY_TOKEN", format!("shpat_{}", hexa(32))),
        ("FACEBOOK_TOKEN", format!("EAAC{}", a(120))),
        ("REGISTRY_TOKEN", format!("npm_{}", a(36))),
        ("REGISTRY_TOKEN", format!("pypi-AgEIcHlwaS5vcmc{}", a(100))),
        ("REGISTRY_TOKEN", format!("rubygems_{}", hexa(48))),
        ("REGISTRY_TOKEN", format!("dckr_pat_{}", a(27))),
        ("REGISTRY_TOKEN", format!("cio{}", a(32))),
        ("TWILIO_KEY", format!("SK{}", hexa(32))),
        ("MAIL_KEY", format!("SG.{}.{}", a(22), a(43))),
        ("MAIL_KEY", format!("key-{}", hexa(32))),
        ("MAIL_KEY", format!("{}-us12", hexa(32))),
        ("MAIL_KEY", format!("xkeysib-{}-{}", hexa(64), a(16))),
        ("HOSTING_TOKEN", format!("dop_v1_{}", hexa(64))),
        ("HOSTING_TOKEN", format!("HRKU-{}", a(60))),
        ("HOSTING_TOKEN", format!("sbp_{}", hexa(40))),
        ("HOSTING_TOKEN", format!("pscale_tkn_{}", a(43))),
        ("VAULT_TOKEN", format!("hvs.{}", a(95))),
        ("VAULT_TOKEN", format!("{}.atlasv1.{}", a(14), a(67))),
        ("VAULT_TOKEN", format!("dp.pt.{}", a(43))),
        ("MONITORING_TOKEN", format!("glsa_{}_{}", a(32), hexa(8))),
        ("MONITORING_TOKEN", format!("NRAK-{}", upper(27))),
        ("MONITORING_TOKEN", format!("sntryu_{}", hexa(64))),
        ("SERVICE_TOKEN", format!("lin_api_{}", a(40))),
        ("SERVICE_TOKEN", format!("secret_{}", a(43))),
        ("SERVICE_TOKEN", format!("ntn_{}", a(46))),
        ("SERVICE_TOKEN", format!("PMAK-{}-{}", hexa(24), hexa(34))),
        ("SERVICE_TOKEN", format!("dapi{}", hexa(32))),
        ("SERVICE_TOKEN", format!("figd_{}", a(40))),
        ("SERVICE_TOKEN", format!("tskey-auth-{}-{}", a(12), a(32))),
        ("PRIVATE_KEY", format!("AGE-SECRET-KEY-1{}", upper(58))),
        ("JWT", format!("eyJ{}.eyJ{}.{}", a(33), a(60), a(43))),
        (
            "JWT",
            format!("eyJ{}..{}.{}.{}", a(33), a(16), a(60), a(22))
                .replace("..", &format!(".{}.", a(20))),
        ),
    ]
}

#[test]
fn a_key_whose_end_was_cut_off_hides_no_part_of_what_follows_it() {
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}\n", alnum(64));
    let token = format!("sk-ant-oat01-{}-YBt3A_b", alnum(80));
    for (text, secret) in [
        (format!("{key}PASSWORD=Monday.qwertz.dragonfly\n"), "qwertz"),
        (format!("{key}PASSWORD=\"Monday 7\"\n"), "Monday"),
        (
            format!("{key}CREATE USER app WITH PASSWORD 'qwertz';\n"),
            "qwertz",
        ),
        (format!("{key}password: qwertz89 # mine\n"), "qwertz"),
        // A part of it looks like a line of a key.
        (
            format!("-----BEGIN PRIVATE KEY-----\nVALUE={token}\n"),
            "YBt3A",
        ),
    ] {
        let masked = REDACTOR.redact_text(&text).0;
        assert!(!masked.contains(secret), "{masked}");
        assert!(masked.starts_with("[REDACTED_PRIVATE_KEY]"), "{masked}");
    }
    // Its last line is one of it.
    for last in [
        "QmFzZTY0",
        "QmFzZTY0Cg==",
        "QmFzZTY0Cg==\\n",
        "QmFzZTY0Cg==\",",
    ] {
        let masked = REDACTOR
            .redact_text(&format!("{key}{last}\nuser: me\n"))
            .0
            .into_owned();
        assert!(!masked.contains("QmFz"), "{masked}");
        assert!(masked.ends_with("user: me\n"), "{masked}");
    }
}

#[test]
fn a_quote_that_nobody_closes_hides_no_name_below_it() {
    for text in [
        "{\"PASS\": \"first\nds.setPassword(\"letmein85\");\n",
        "password: \"first\npassword=\"$letmein85\"\n",
        "secret: 'a1b2c3d4e5\npassword='letmein85'\n",
    ] {
        let masked = REDACTOR.redact_text(text).0;
        assert!(!masked.contains("letmein"), "{masked}");
    }
    // One that goes over lines ends where it is closed.
    let text = "password: \"one\ntwo three\"\nuser: \"me\"\n";
    let masked = REDACTOR.redact_text(text).0;
    assert_eq!(masked, "password: \"[REDACTED_PASSWORD]\"\nuser: \"me\"\n");
}

#[test]
fn every_format_is_masked_wherever_it_stands() {
    for (mark, secret) in formats() {
        for (before, after) in AROUND {
            if before.ends_with('_') && secret.starts_with("key-") {
                // As many a digest is named: `cache_key-…`.
                continue;
            }
            let text = format!("{before}{secret}{after}");
            let (masked, marks) = REDACTOR.redact_text(&text);
            assert!(marks >= 1, "{mark}: {text}");
            assert!(masked.contains("[REDACTED_"), "{mark}: {masked}");
            let tail = &secret[secret.len() - 10..];
            assert!(!masked.contains(tail), "{mark}: {masked}");
            assert!(masked.starts_with(before), "{masked}");
            assert!(masked.ends_with(after), "{masked}");
        }
        let alone = REDACTOR.redact_text(&secret).0;
        assert!(
            alone.contains(&format!("[REDACTED_{mark}]")),
            "{mark}: {alone}"
        );
    }
}

#[test]
fn every_rule_compiles() {
    for rule in super::super::rule::RULES {
        assert!(rule.compile().as_str().len() >= rule.hint.len().min(4));
        regex::Regex::new(rule.hint).unwrap();
    }
}

#[test]
fn every_rule_has_a_case() {
    let cases: Vec<_> = formats().into_iter().map(|(mark, _)| mark).collect();
    let elsewhere = [
        "AWS_SIGNATURE",
        "BASIC_AUTH",
        "BEARER_TOKEN",
        "AUTHORIZATION",
        "COOKIE",
        "URL_PASSWORD",
        "URL_TOKEN",
        "PASSWORD",
    ];
    for rule in super::super::rule::RULES {
        let tested = cases.contains(&rule.mark) || elsewhere.contains(&rule.mark);
        assert!(tested, "{}", rule.mark);
    }
}

/// What is expected of a text; `…` in both stands for the same random secret.
fn expect(cases: &[(&str, &str)]) {
    for secret in [alnum(24), hexa(40), "Tr0ub4dor&3!x".to_owned()] {
        for (text, wanted) in cases {
            let text = text.replace('…', &secret);
            let (masked, _) = REDACTOR.redact_text(&text);
            assert_eq!(masked, wanted.replace('…', &secret), "{text}");
        }
    }
}

#[test]
fn private_keys_go_from_their_first_line_to_their_last() {
    let body = format!("{}\n{}\n{}=", alnum(64), alnum(64), alnum(30));
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "] {
        let key =
            format!("-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----");
        let masked = REDACTOR.redact_text(&format!("a\n{key}\nb")).0.into_owned();
        assert_eq!(masked, "a\n[REDACTED_PRIVATE_KEY]\nb");
        let escaped = format!(
            "{{\"private_key\": \"{}\\n\", \"x\": 1}}",
            key.replace('\n', "\\n")
        );
        let masked = REDACTOR.redact_text(&escaped).0.into_owned();
        assert!(
            !masked.contains(&body[..20]) && masked.ends_with("\"x\": 1}"),
            "{masked}"
        );
        let cut = &key[..key.len() - 40];
        let masked = REDACTOR.redact_text(cut).0.into_owned();
        assert!(masked.starts_with("[REDACTED_PRIVATE_KEY]") && !masked.contains(&body[..20]));
    }
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----");
    for (before, after) in [
        ("\"", "\\n\""),
        ("    '", "' +"),
        ("  \"", "\","),
        ("# ", ""),
        ("web_1  | ", ""),
        ("   12→", ""),
        ("│ 12 │ ", " │"),
    ] {
        let wrap = |line: &str| format!("{before}{line}{after}\n");
        let text: String = key.lines().map(wrap).collect();
        let masked = REDACTOR.redact_text(&format!("a\n{text}b")).0.into_owned();
        let wanted = format!("a\n{before}[REDACTED_PRIVATE_KEY]{after}\nb");
        assert_eq!(masked, wanted);
        let cut: String = key.lines().take(4).map(wrap).collect();
        let masked = REDACTOR.redact_text(&format!("a\n{cut}b")).0.into_owned();
        let wanted = format!("a\n{before}[REDACTED_PRIVATE_KEY]");
        assert!(
            masked.starts_with(&wanted) && masked.ends_with("\nb"),
            "{masked}"
        );
        assert!(
            !body.lines().any(|line| masked.contains(&line[..10])),
            "{masked}"
        );
    }
    let pgp = format!(
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{body}\n-----END PGP PRIVATE KEY BLOCK-----"
    );
    assert_eq!(REDACTOR.redact_text(&pgp).0, "[REDACTED_PRIVATE_KEY]");
    let putty = format!(
        "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n{}\n{}\nPrivate-MAC: x",
        alnum(64),
        alnum(40)
    );
    let masked = REDACTOR.redact_text(&putty).0.into_owned();
    assert!(
        masked.ends_with("Private-Lines: 2\n[REDACTED_PRIVATE_KEY]Private-MAC: x"),
        "{masked}"
    );
}

#[test]
fn headers_are_masked_in_shells_code_and_json() {
    let basic = "dXNlcjpoVW50ZXIyIQ==";
    for (text, wanted) in [
        (
            format!("Authorization: Basic {basic}"),
            "Authorization: Basic [REDACTED_BASIC_AUTH]".to_owned(),
        ),
        (
            format!("curl -H 'Proxy-Authorization: basic {basic}' x"),
            "curl -H 'Proxy-Authorization: basic [REDACTED_BASIC_AUTH]' x".to_owned(),
        ),
    ] {
        assert_eq!(REDACTOR.redact_text(&text).0, wanted);
    }
    for secret in [alnum(24), hexa(40)] {
        for (text, wanted) in [
            (
                "Authorization: Bearer …",
                "Authorization: Bearer [REDACTED_BEARER_TOKEN]",
            ),
            (
                "\"Authorization\": \"Bearer …\",",
                "\"Authorization\": \"Bearer [REDACTED_BEARER_TOKEN]\",",
            ),
            (
                "\\\"authorization\\\":\\\"token …\\\"",
                "\\\"authorization\\\":\\\"token [REDACTED_AUTHORIZATION]\\\"",
            ),
            (
                "headers['Authorization'] = f\"Token …\"",
                "headers['Authorization'] = f\"Token [REDACTED_AUTHORIZATION]\"",
            ),
            (
                "sent bearer … to it",
                "sent bearer [REDACTED_BEARER_TOKEN] to it",
            ),
            (
                "Authorization: …",
                "Authorization: [REDACTED_AUTHORIZATION]",
            ),
            (
                "Authorization: Bot …",
                "Authorization: Bot [REDACTED_AUTHORIZATION]",
            ),
            ("X-Api-Key: …", "X-Api-Key: [REDACTED_SECRET]"),
            ("Private-Token: …", "Private-Token: [REDACTED_SECRET]"),
            (
                ".header(\"x-api-key\", \"…\")",
                ".header(\"x-api-key\", \"[REDACTED_SECRET]\")",
            ),
            ("Cookie: sid=…; theme=dark", "Cookie: [REDACTED_COOKIE]"),
            (
                "Set-Cookie: session=…; Path=/",
                "Set-Cookie: [REDACTED_COOKIE]",
            ),
            (
                "GET /?PHPSESSID=… HTTP",
                "GET /?PHPSESSID=[REDACTED_COOKIE] HTTP",
            ),
        ] {
            let masked = REDACTOR
                .redact_text(&text.replace('…', &secret))
                .0
                .into_owned();
            assert_eq!(masked, wanted);
        }
    }
}

#[test]
fn passwords_in_addresses_go_and_the_address_stays() {
    for (text, wanted) in [
        (
            "postgres://app:s3cr/t@db:5432/x",
            "postgres://app:[REDACTED_URL_PASSWORD]@db:5432/x",
        ),
        (
            "postgresql+asyncpg://u:p%40ss@h/d",
            "postgresql+asyncpg://u:[REDACTED_URL_PASSWORD]@h/d",
        ),
        (
            "mongodb+srv://u:swordfish@c.mongodb.net/?w=1",
            "mongodb+srv://u:[REDACTED_URL_PASSWORD]@c.mongodb.net/?w=1",
        ),
        (
            "redis://:swordfish@localhost:6379/0",
            "redis://:[REDACTED_URL_PASSWORD]@localhost:6379/0",
        ),
        (
            "amqp://guest:guest@mq",
            "amqp://guest:[REDACTED_URL_PASSWORD]@mq",
        ),
        (
            "https://bob:p@ss:w0rd@example.com/a",
            "https://bob:[REDACTED_URL_PASSWORD]@example.com/a",
        ),
        (
            "git clone https://x:hunter2@git.example.com/a.git",
            "git clone https://x:[REDACTED_URL_PASSWORD]@git.example.com/a.git",
        ),
        (
            "EMAIL_URL=smtp://me@example.com:hunter2xyz@smtp.example.com:587",
            "EMAIL_URL=smtp://me@example.com:[REDACTED_URL_PASSWORD]@smtp.example.com:587",
        ),
        (
            "postgres://admin@srv:S3cr3t@srv.postgres.database.azure.com/db",
            "postgres://admin@srv:[REDACTED_URL_PASSWORD]@srv.postgres.database.azure.com/db",
        ),
        (
            "https://dev@acme.com:pw@git.acme.com/a.git",
            "https://dev@acme.com:[REDACTED_URL_PASSWORD]@git.acme.com/a.git",
        ),
        (
            "amqp://me@corp.org:5672,amqp://svc:S3/cret@host",
            "amqp://me@corp.org:5672,amqp://svc:[REDACTED_URL_PASSWORD]@host",
        ),
        (
            "jdbc:mysql://h/d?user=u&password=hunter2&ssl=true",
            "jdbc:mysql://h/d?user=u&password=[REDACTED_PASSWORD]&ssl=true",
        ),
    ] {
        assert_eq!(REDACTOR.redact_text(text).0, wanted);
    }
    expect(&[(
        "https://h/cb?access_token=…",
        "https://h/cb?access_token=[REDACTED_SECRET]",
    )]);
    let token = alnum(40);
    let text = format!("https://{token}@github.com/a/b");
    assert_eq!(
        REDACTOR.redact_text(&text).0,
        "https://[REDACTED_URL_TOKEN]@github.com/a/b"
    );
    let sas = format!(
        "https://a.blob.core.windows.net/c?sv=2024&sig={}%3D&se=1",
        alnum(43)
    );
    assert_eq!(
        REDACTOR.redact_text(&sas).0,
        "https://a.blob.core.windows.net/c?sv=2024&sig=[REDACTED_AZURE_SECRET]&se=1"
    );
    let signed = format!("https://s3/x?X-Amz-Date=1&X-Amz-Signature={}", hexa(64));
    assert_eq!(
        REDACTOR.redact_text(&signed).0,
        "https://s3/x?X-Amz-Date=1&X-Amz-Signature=[REDACTED_AWS_SIGNATURE]"
    );
}

#[test]
fn names_give_their_values_away() {
    expect(&[
        ("API_KEY=…", "API_KEY=[REDACTED_SECRET]"),
        (
            "export AWS_SECRET_ACCESS_KEY=\"…\"",
            "export AWS_SECRET_ACCESS_KEY=\"[REDACTED_SECRET]\"",
        ),
        (
            "aws_secret_access_key = …",
            "aws_secret_access_key = [REDACTED_SECRET]",
        ),
        ("\"apiKey\": \"…\",", "\"apiKey\": \"[REDACTED_SECRET]\","),
        (
            "{\\\"client_secret\\\":\\\"…\\\"}",
            "{\\\"client_secret\\\":\\\"[REDACTED_SECRET]\\\"}",
        ),
        ("client-secret: …", "client-secret: [REDACTED_SECRET]"),
        (
            ":secret_key_base => '…'",
            ":secret_key_base => '[REDACTED_SECRET]'",
        ),
        ("token := \"…\"", "token := \"[REDACTED_SECRET]\""),
        ("--api-key …", "--api-key [REDACTED_SECRET]"),
        ("--token=… --verbose", "--token=[REDACTED_SECRET] --verbose"),
        (
            "tool --password … -v",
            "tool --password [REDACTED_PASSWORD] -v",
        ),
        (
            "<password>…</password>",
            "<password>[REDACTED_PASSWORD]</password>",
        ),
        (
            "//npm.example.com/:_authToken=…",
            "//npm.example.com/:_authToken=[REDACTED_SECRET]",
        ),
        (
            "Server=h;User Id=u;Password=…;Encrypt=true",
            "Server=h;User Id=u;Password=[REDACTED_PASSWORD];Encrypt=true",
        ),
        (
            "AccountName=a;AccountKey=…==;EndpointSuffix=x",
            "AccountName=a;AccountKey=[REDACTED_SECRET];EndpointSuffix=x",
        ),
        (
            "- name: DB_PASSWORD\n  value: …\n",
            "- name: DB_PASSWORD\n  value: [REDACTED_PASSWORD]\n",
        ),
        (
            "<add key=\"password\" value=\"…\"/>",
            "<add key=\"password\" value=\"[REDACTED_PASSWORD]\"/>",
        ),
        (
            "A=1\\nSECRET=…\\nB=2",
            "A=1\\nSECRET=[REDACTED_SECRET]\\nB=2",
        ),
        (
            "let pw = login(user, password=\"…\")",
            "let pw = login(user, password=\"[REDACTED_PASSWORD]\")",
        ),
        ("dbPass: '…'", "dbPass: '[REDACTED_PASSWORD]'"),
        ("PGPASSWORD=… psql", "PGPASSWORD=[REDACTED_PASSWORD] psql"),
        ("API_KEY_2=…", "API_KEY_2=[REDACTED_SECRET]"),
        (
            "refresh_token=…&grant_type=x",
            "refresh_token=[REDACTED_SECRET]&grant_type=x",
        ),
        ("the api key is …", "the api key is [REDACTED_PASSWORD]"),
    ]);
}

#[test]
fn a_value_below_its_name_is_masked_with_the_lines_that_go_on_with_it() {
    expect(&[
        (
            "stringData:\n  password: |\n    …\n  user: me\n",
            "stringData:\n  password: |\n    [REDACTED_PASSWORD]\n  user: me\n",
        ),
        (
            "db:\r\n  password: >-\r\n    …\r\n",
            "db:\r\n  password: >-\r\n    [REDACTED_PASSWORD]\r\n",
        ),
        (
            "vars:\n  api_key:\n    …",
            "vars:\n  api_key:\n    [REDACTED_SECRET]",
        ),
        (
            "- \"token\":\n    \"…\"\n",
            "- \"token\":\n    \"[REDACTED_SECRET]\"\n",
        ),
        (
            "token: |2-\n  …\n  …\n  …\nuser: me\n",
            "token: |2-\n  [REDACTED_SECRET]\n  [REDACTED_SECRET]\n  [REDACTED_SECRET]\nuser: me\n",
        ),
        (
            "+  password: |\n+    …\n-  token:\n-    …\n",
            "+  password: |\n+    [REDACTED_PASSWORD]\n-  token:\n-    [REDACTED_SECRET]\n",
        ),
        ("-token:\n-  …\n", "-token:\n-  [REDACTED_SECRET]\n"),
        (
            "\"a: 1\\npassword: |\\n  …\\nuser: me\\n\"",
            "\"a: 1\\npassword: |\\n  [REDACTED_PASSWORD]\\nuser: me\\n\"",
        ),
        // Neither deeper, nor alone on its line, nor its name first on its.
        ("token:\n…\n", "token:\n…\n"),
        ("token:\n  …: 1\n", "token:\n  …: 1\n"),
        ("token:\n  - …\n", "token:\n  - …\n"),
        ("token: |\n  … is it\n", "token: |\n  … is it\n"),
        ("this is the token:\n  …\n", "this is the token:\n  …\n"),
    ]);
}

#[test]
fn the_colours_of_a_log_hide_no_value_and_stay() {
    expect(&[
        (
            "\u{1b}[3mpassword\u{1b}[0m\u{1b}[2m=\u{1b}[0m… \u{1b}[3mhost",
            "\u{1b}[3mpassword\u{1b}[0m\u{1b}[2m=\u{1b}[0m[REDACTED_PASSWORD] \u{1b}[3mhost",
        ),
        (
            "\u{1b}[36mapi_key\u{1b}[0m=\u{1b}[35m…\u{1b}[0m \u{1b}[36mn\u{1b}[0m=1",
            "\u{1b}[36mapi_key\u{1b}[0m=\u{1b}[35m[REDACTED_SECRET]\u{1b}[0m \u{1b}[36mn\u{1b}[0m=1",
        ),
        (
            "    \u{1b}[35mpassword\u{1b}[39m: \u{1b}[32m…\u{1b}[39m\n",
            "    \u{1b}[35mpassword\u{1b}[39m: \u{1b}[32m[REDACTED_PASSWORD]\u{1b}[39m\n",
        ),
        (
            "\u{1b}[34;1m\"token\"\u{1b}[0m\u{1b}[1;39m:\u{1b}[0m \u{1b}[0;32m\"…\"\u{1b}[0m",
            "\u{1b}[34;1m\"token\"\u{1b}[0m\u{1b}[1;39m:\u{1b}[0m \u{1b}[0;32m\"[REDACTED_SECRET]\"\u{1b}[0m",
        ),
        (
            "\"\\u001b[3mtoken\\u001b[0m\\u001b[2m=\\u001b[0m…\\u001b[0m\"",
            "\"\\u001b[3mtoken\\u001b[0m\\u001b[2m=\\u001b[0m[REDACTED_SECRET]\\u001b[0m\"",
        ),
    ]);
    assert_eq!(
        REDACTOR
            .redact_text("password\u{1b}[0m: \u{1b}[32mswordfish\u{1b}[0m\n")
            .0,
        "password\u{1b}[0m: \u{1b}[32m[REDACTED_PASSWORD]\u{1b}[0m\n"
    );
}

#[test]
fn a_password_is_masked_even_when_it_is_a_word() {
    for (text, wanted) in [
        ("password: hunter2", "password: [REDACTED_PASSWORD]"),
        ("password: swordfish\n", "password: [REDACTED_PASSWORD]\n"),
        ("DB_PASSWORD=swordfish", "DB_PASSWORD=[REDACTED_PASSWORD]"),
        (
            "{\"password\":\"correct horse battery staple\"}",
            "{\"password\":\"[REDACTED_PASSWORD]\"}",
        ),
        (
            "passphrase = 'open sesame'",
            "passphrase = '[REDACTED_PASSWORD]'",
        ),
        ("password=$tr0ng!", "password=[REDACTED_PASSWORD]"),
        ("password: '!Secret123'", "password: '[REDACTED_PASSWORD]'"),
        ("password=$tro-ng9", "password=[REDACTED_PASSWORD]"),
        (
            "User{name=me, password=swordfish}",
            "User{name=me, password=[REDACTED_PASSWORD]}",
        ),
        ("pwd=12345678", "pwd=[REDACTED_PASSWORD]"),
        (
            "machine h login bob password swordfish",
            "machine h login bob password [REDACTED_PASSWORD]",
        ),
        (
            "CREATE USER x IDENTIFIED BY 'swordfish';",
            "CREATE USER x IDENTIFIED BY '[REDACTED_PASSWORD]';",
        ),
        (
            "ALTER ROLE x WITH PASSWORD 'swordfish'",
            "ALTER ROLE x WITH PASSWORD '[REDACTED_PASSWORD]'",
        ),
        (
            "curl -u admin:swordfish https://h",
            "curl -u admin:[REDACTED_PASSWORD] https://h",
        ),
        (
            "sshpass -p swordfish ssh h",
            "sshpass -p [REDACTED_PASSWORD] ssh h",
        ),
        (
            "mysql -u root -pswordfish db",
            "mysql -u root -p[REDACTED_PASSWORD] db",
        ),
        (
            "docker login -u me -p swordfish",
            "docker login -u me -p [REDACTED_PASSWORD]",
        ),
        (
            "the password is hunter2.",
            "the password is [REDACTED_PASSWORD]",
        ),
    ] {
        assert_eq!(REDACTOR.redact_text(text).0, wanted);
    }
}

#[test]
fn a_secret_that_holds_another_rule_s_find_goes_as_a_whole() {
    let text = format!("password=AKIA{}/and-the-rest", upper(16));
    assert_eq!(
        REDACTOR.redact_text(&text).0,
        "password=[REDACTED_PASSWORD]"
    );
}

#[test]
fn a_name_in_the_place_of_a_value_hides_nothing() {
    let secret = alnum(24);
    let text = format!("token: password: {secret}");
    assert_eq!(
        REDACTOR.redact_text(&text).0,
        "token: password: [REDACTED_PASSWORD]"
    );
}

/// Where a value is meant as it is, no sign in it makes it code. Of each kind many are drawn: one
/// in some hundred happens to look like a placeholder or a comparison.
#[test]
fn of_drawn_passwords_and_keys_next_to_none_passes_for_code() {
    const DRAWN: u64 = 400;
    for template in [
        "DB_PASSWORD=«‹p›»\n",
        "A=1\nSECRET_KEY=«‹p24›»\nB=2\n",
        "export DB_PASSWORD='«‹p›»'\n",
        "\"password\": \"«‹p›»\",",
        "client_secret: \"«‹p32›»\"",
        "SECRET_KEY = '«‹j›»'",
        "SECRET_KEY = 'django-insecure-«‹j›»'",
        "DJANGO_SECRET_KEY=«‹j›»\n",
    ] {
        let leaked: Vec<_> = (0..DRAWN)
            .map(|draw| Draw::new(template, draw).fill(template))
            .filter_map(|filled| {
                let (text, secrets) = with_secrets(&filled);
                let masked = REDACTOR.redact_text(&text).0.into_owned();
                leaks(&masked, &around(&filled), &secrets[0]).then_some(text)
            })
            .collect();
        assert!(leaked.len() <= 4, "{template}: {leaked:#?}");
    }
}

#[test]
fn code_is_code_as_far_as_it_goes() {
    for text in [
        "DB_PASSWORD=xK9<mQ2vLp7T\n",
        "DB_PASSWORD=xK9(mQ2vLp7T\n",
        "DB_PASSWORD=xKq[mQ]vLp7T\n",
        "db_password=xK9(mQ2vLp7T\n",
        "password: xK9<mQ2vLp7T\n",
        "PASSWORD=correct.horse.battery\n",
        "Server=h;Password=xK9(mQ2vLp7T;Encrypt=true",
        "SECRET_KEY = 'django-insecure-x7k(w2m!q8z'",
        "A=1\nDB_PASSWORD=xK9;ab=mQ2&cd=vLp7T\n",
    ] {
        let masked = REDACTOR.redact_text(text).0;
        assert!(masked.contains("[REDACTED_"), "{masked}");
        let tail = ["vLp7T", "battery", "q8z"];
        assert!(!tail.iter().any(|tail| masked.contains(tail)), "{masked}");
    }
}

#[test]
fn what_is_called_pass_is_a_password_where_it_is_no_result_of_a_test() {
    for (text, wanted) in [
        ("A=1\nPASS=hunter2xyz\n", "A=1\nPASS=[REDACTED_PASSWORD]\n"),
        ("PASS=swordfish\n", "PASS=[REDACTED_PASSWORD]\n"),
        ("pass: hunter2xyz\n", "pass: [REDACTED_PASSWORD]\n"),
        ("pass: 'swordfish'", "pass: '[REDACTED_PASSWORD]'"),
        ("pass: \"1234\"", "pass: \"[REDACTED_PASSWORD]\""),
        (
            "\"PASS\": \"swordfish\"",
            "\"PASS\": \"[REDACTED_PASSWORD]\"",
        ),
        ("tool --pass swordfish", "tool --pass [REDACTED_PASSWORD]"),
        ("DB_PASS: swordfish", "DB_PASS: [REDACTED_PASSWORD]"),
        ("PASS: hunter2xyz", "PASS: hunter2xyz"),
        ("PASS=12 FAIL=0", "PASS=12 FAIL=0"),
        ("pass: 12", "pass: 12"),
    ] {
        assert_eq!(REDACTOR.redact_text(text).0, wanted);
    }
}
