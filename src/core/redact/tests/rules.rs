//! Each rule of the table, and each format that one knows, by a text that only it masks.

use regex::Regex;

use super::super::allow::AllowList;
use super::super::rule::{RULES, mask_all};
use super::secrets::formats;
use super::{REDACTOR, alnum, hexa, upper};

/// Formats that stand beside others in one rule.
fn alternatives() -> Vec<(&'static str, String)> {
    let a = alnum;
    vec![
        (
            "LANGSMITH_KEY",
            format!("sk-lf-{}-{}-{}", hexa(8), hexa(4), hexa(20)),
        ),
        ("AI_PROVIDER_KEY", format!("csk-{}", a(48).to_lowercase())),
        ("AI_PROVIDER_KEY", format!("fw_{}", a(24))),
        ("AI_PROVIDER_KEY", format!("tgp_v1_{}", a(43))),
        ("AI_PROVIDER_KEY", format!("tvly-dev-{}", a(32))),
        ("AI_PROVIDER_KEY", format!("sk_{}", hexa(48))),
        ("HUGGINGFACE_TOKEN", format!("api_org_{}", a(34))),
        ("GITHUB_TOKEN", format!("ghu_{}", a(36))),
        ("GITHUB_TOKEN", format!("ghr_{}", a(76))),
        ("GITLAB_TOKEN", format!("glrt-{}", a(20))),
        ("GITLAB_TOKEN", format!("_gitlab_session={}", hexa(32))),
        ("ATLASSIAN_TOKEN", format!("ATCTT3{}", a(180))),
        ("SLACK_TOKEN", format!("xoxe.xoxp-1-{}", a(40))),
        (
            "WEBHOOK_URL",
            format!("https://acme.webhook.office.com/webhookb2/{}", a(36)),
        ),
        ("CLOUD_KEY", format!("AKID{}", a(32))),
        ("CLOUD_KEY", format!("AQVN{}", a(36))),
        ("CLOUD_KEY", format!("YCAJ{}", a(21))),
        ("PAYMENT_KEY", format!("sq0csp-{}", a(43))),
        ("PAYMENT_KEY", format!("EAAA{}", a(60))),
        (
            "PAYMENT_KEY",
            format!("access_token$production${}${}", hexa(16), hexa(32)),
        ),
        ("PAYMENT_KEY", format!("shippo_live_{}", hexa(40))),
        ("PAYMENT_KEY", format!("FLWSECK_TEST-{}", a(32))),
        ("PAYMENT_KEY", format!("duffel_live_{}", a(43))),
        ("PAYMENT_KEY", format!("EZAK{}", a(54))),
        ("REGISTRY_TOKEN", format!("oy2{}", a(43).to_lowercase())),
        ("REGISTRY_TOKEN", format!("CLOJARS_{}", a(60))),
        ("MAIL_KEY", format!("re_{}_{}", a(8), a(24))),
        ("HOSTING_TOKEN", format!("v1.0-{}-{}", hexa(24), hexa(146))),
        ("HOSTING_TOKEN", format!("fo1_{}", a(43))),
        ("HOSTING_TOKEN", format!("fm2_{}==", a(90))),
        ("HOSTING_TOKEN", format!("nfp_{}", a(36))),
        ("HOSTING_TOKEN", format!("rnd_{}", a(28))),
        ("HOSTING_TOKEN", format!("vcp_{}", a(56))),
        ("HOSTING_TOKEN", format!("sb_secret_{}", a(31))),
        ("HOSTING_TOKEN", format!("napi_{}", a(40).to_lowercase())),
        ("HOSTING_TOKEN", format!("tk-us-{}", a(48))),
        ("VAULT_TOKEN", format!("s.{}", a(24))),
        ("VAULT_TOKEN", format!("pul-{}", hexa(40))),
        ("VAULT_TOKEN", format!("ops_eyJ{}", a(100))),
        ("VAULT_TOKEN", format!("A3-{}-{}", upper(6), upper(26))),
        ("MONITORING_TOKEN", format!("glc_{}", a(60))),
        (
            "MONITORING_TOKEN",
            format!("dt0c01.{}.{}", upper(24), upper(64)),
        ),
        ("MONITORING_TOKEN", format!("squ_{}", hexa(40))),
        (
            "MONITORING_TOKEN",
            format!(
                "sdk-{}-{}-{}-{}-{}",
                hexa(8),
                hexa(4),
                hexa(4),
                hexa(4),
                hexa(12)
            ),
        ),
        ("MONITORING_TOKEN", format!("phx_{}", a(43))),
        ("SERVICE_TOKEN", format!("pat{}.{}", a(14), hexa(64))),
        ("SERVICE_TOKEN", format!("tfp_{}", a(44))),
        ("SERVICE_TOKEN", format!("CFPAT-{}", a(43))),
        ("SERVICE_TOKEN", format!("AKCp{}", a(69))),
        ("SERVICE_TOKEN", format!("cmVmd{}", a(59))),
        ("SERVICE_TOKEN", format!("bkua_{}", hexa(40))),
        ("SERVICE_TOKEN", format!("CCIPAT_{}_{}", a(22), hexa(40))),
        ("SERVICE_TOKEN", format!("ddp_{}", a(36))),
        ("SERVICE_TOKEN", format!("sk.eyJ{}.{}", a(60), a(22))),
        ("SERVICE_TOKEN", format!("sgp_{}", hexa(40))),
        (
            "SERVICE_TOKEN",
            format!(
                "pat-na1-{}-{}-{}-{}-{}",
                hexa(8),
                hexa(4),
                hexa(4),
                hexa(4),
                hexa(12)
            ),
        ),
        ("SERVICE_TOKEN", format!("fio-u-{}", a(64))),
        ("SERVICE_TOKEN", format!("p8e-{}", a(32))),
        ("MONITORING_TOKEN", format!("eyJrIjoi{}==", a(80))),
        ("SERVICE_TOKEN", format!("aio_{}", a(28))),
        ("SERVICE_TOKEN", format!("rdme_{}", a(70).to_lowercase())),
        ("SERVICE_TOKEN", format!("{}_{}_mmk", a(6), a(29))),
        ("SERVICE_TOKEN", format!("sha256~{}", a(43))),
        ("SERVICE_TOKEN", format!("{}JQQJ99{}", a(52), a(26))),
        (
            "SERVICE_TOKEN",
            format!("pat.{}.{}.{}", a(22), hexa(24), a(20)),
        ),
        ("SERVICE_TOKEN", format!("AVNS_{}", a(19))),
        ("PASSWORD", format!("db.example.com:5432:app:me:{}", a(12))),
        ("PASSWORD", format!("db.example.com:15432:app:me:{}", a(12))),
        ("PASSWORD", format!("htpasswd -bB .htpasswd me {}", a(12))),
    ]
}

/// Texts for the rules that need something around the secret.
fn in_context() -> Vec<(&'static str, String)> {
    let a = alnum;
    let base64 = format!("{}\n{}\n{}=", a(64), a(64), a(30));
    vec![
        (
            "PRIVATE_KEY",
            format!("-----BEGIN RSA PRIVATE KEY-----\n{base64}\n-----END RSA PRIVATE KEY-----"),
        ),
        (
            "PRIVATE_KEY",
            format!(
                "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n{}\n{}\n",
                a(64),
                a(40)
            ),
        ),
        (
            "PRIVATE_KEY",
            format!(r#"{{"kty": "RSA", "d": "{}"}}"#, a(64)),
        ),
        ("AWS_ACCESS_KEY", format!("ABSK{}=", a(120))),
        (
            "AZURE_SECRET",
            format!("https://x.blob.core.windows.net/c?sv=1&sig={}", a(44)),
        ),
        ("AWS_SIGNATURE", format!("?X-Amz-Signature={}", hexa(64))),
        ("BASIC_AUTH", "Basic dXNlcjpoVW50ZXIyIQ==".to_owned()),
        ("BEARER_TOKEN", format!("bearer {}", a(40))),
        ("AUTHORIZATION", format!("Authorization: Token {}", a(40))),
        ("COOKIE", format!("Cookie: theme=dark; id={}", a(32))),
        ("COOKIE", format!("JSESSIONID={}", a(32))),
        (
            "URL_PASSWORD",
            "postgres://me:p/a:ss@db.example.com/x".to_owned(),
        ),
        (
            "URL_PASSWORD",
            "ssh+x://me:Tr0ub4dor@host.example.com/".to_owned(),
        ),
        (
            "URL_TOKEN",
            format!("https://{}@git.example.com/x.git", a(40)),
        ),
        (
            "PASSWORD",
            "curl -u me:Tr0ub4dor3 https://example.com".to_owned(),
        ),
        ("PASSWORD", "sshpass -p Tr0ub4dor3 ssh host".to_owned()),
        (
            "PASSWORD",
            "machine h login me password Tr0ub4dor3".to_owned(),
        ),
        (
            "PASSWORD",
            "CREATE USER a IDENTIFIED BY 'Tr0ub4dor3'".to_owned(),
        ),
        ("PASSWORD", "the password is Tr0ub4dor3".to_owned()),
    ]
}

#[test]
fn every_format_beside_others_is_masked_under_its_rule() {
    for (mark, secret) in alternatives() {
        for text in [
            secret.clone(),
            format!("a {secret} b"),
            format!("'{secret}'"),
        ] {
            let (masked, _) = REDACTOR.redact_text(&text);
            assert!(
                masked.contains(&format!("[REDACTED_{mark}]")),
                "{text}: {masked}"
            );
            let tail = &secret[secret.len() - 10..];
            assert!(!masked.contains(tail), "{text}: {masked}");
        }
    }
}

#[test]
fn every_rule_masks_a_text_by_itself_and_is_hinted_at_by_it() {
    let texts: Vec<_> = [formats(), alternatives(), in_context()].concat();
    for (number, rule) in RULES.iter().enumerate() {
        let (pattern, hint) = (rule.compile(), Regex::new(rule.hint).unwrap());
        let mut found = 0;
        for (mark, text) in &texts {
            if mask_all(rule, &pattern, text, &AllowList::default()).is_some() {
                assert!(hint.is_match(text), "rule {number} is not tried on {text}");
                found += u32::from(*mark == rule.mark);
            }
        }
        assert!(found > 0, "no text for rule {number}, {}", rule.mark);
    }
}
