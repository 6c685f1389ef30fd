//! What has to survive.

use super::{REDACTOR, alnum, hexa};

fn survives(text: &str) {
    survive(&[text]);
}

fn survive(texts: &[&str]) {
    let lost: Vec<_> = texts
        .iter()
        .map(|text| REDACTOR.redact_text(text))
        .filter(|(_, marks)| *marks > 0)
        .collect();
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn hashes_ids_and_digests_survive() {
    for len in [7, 8, 12, 32, 40, 56, 64, 96, 128] {
        let hash = hexa(len);
        for text in [
            hash.clone(),
            format!("commit {hash}"),
            format!("sha256:{hash}"),
            format!("\"hash\": \"{hash}\""),
            format!("etag=\"{hash}\""),
            format!("image@sha256:{hash}"),
            format!("cache-key-{hash}"),
            format!("fixed in {hash}, see {hash}"),
        ] {
            survives(&text);
        }
    }
    survive(&[
        "550e8400-e29b-41d4-a716-446655440000",
        "id=550e8400-e29b-41d4-a716-446655440000",
        "thread 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        "session_1795000000000_a1b2c3d4",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "ctx_0123456789ab",
        "arn:aws:iam::123456789012:role/app",
        "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
        "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8  file.txt",
    ]);
    survives(&format!("integrity=\"sha512-{}==\"", alnum(86)));
    survives(&format!("h1:{}=", alnum(43)));
    survives(&format!(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} me@host",
        alnum(43)
    ));
}

#[test]
fn images_paths_and_addresses_survive() {
    for len in [100, 5_000, 60_000] {
        survives(&format!(
            "data:image/png;base64,iVBORw0KGgo{}==",
            alnum(len)
        ));
        survives(&format!("![x](data:image/svg+xml;base64,{})", alnum(len)));
    }
    survive(&[
        "src/core/redact/tests.rs:123",
        "/home/me/.config/tokens/readme.md",
        "C:\\Users\\me\\secrets\\notes.txt",
        "https://example.com/a/b?page=2&sort=key",
        "https://example.com:8080/path/@scope/pkg",
        "http://localhost:4502/ws",
        "http://host:8080/@scope",
        "https://me@example.com:8080/@scope",
        "postgres://me@example.com:5432/db?owner=a@example.com",
        "git@github.com:owner/repo.git",
        "ssh://git@github.com/owner/repo.git",
        "mailto:someone@example.com",
        "postgres://localhost/db",
        "postgres://user@localhost:5432/db",
        "npm install @scope/pkg@1.2.3",
        "https://user:$PASSWORD@host/",
        "https://user:${TOKEN}@host/",
        "https://user:<password>@host/",
        "https://USER:PASSWORD@host/",
        "https://user:****@host/",
    ]);
}

#[test]
fn code_and_prose_about_secrets_survive() {
    survive(&[
        "token_count=5",
        "max_tokens: 4096",
        "total_tokens = 128000",
        "\"token_count\": 12345678901",
        "tokens=12",
        "next_page_token=CAUQAA12345678",
        "eos_token = \"</s>\"",
        "password: ",
        "Password:",
        "Enter password: ",
        "[sudo] password for me: ",
        "password:\n",
        "password=\"\"",
        "password=''",
        "PASSWORD=",
        "password: string",
        "password: &str,",
        "PASSWORD=settings.DB_PASSWORD",
        "API_KEY=os.getenv(\"API_KEY\")",
        "PASSWORD=config('DB_PASSWORD')",
        "PASSWORD=read_password(path)",
        "TLS_PRIVATE_KEY=server.key",
        "\"token\": \"readToken(file)\"",
        "token = hmac.new(key.encode(), body)",
        "password = f(x)[7:]",
        "token: Result<Option<u8>, Error>",
        "secrets: Map<string, string>",
        "pub password: Option<String>,",
        "token: String,",
        "let token = parse_token(input);",
        "let token = lexer.next_token();",
        "api_key = os.environ[\"API_KEY\"]",
        "api_key=os.getenv(\"API_KEY\")",
        "const token = process.env.TOKEN;",
        "secret = env::var(\"SECRET\")?;",
        "password=${DB_PASSWORD}",
        "password=$PASSWORD",
        "PASSWORD=$(cat file)",
        "secret: {{ .Values.secret }}",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "password=<your password>",
        "api_key: YOUR_API_KEY",
        "API_KEY=your-api-key-here",
        "password=********",
        "token=xxxxxxxxxxxxxxxx",
        "token = None",
        "\"token\": null",
        "password: required",
        "token=true",
        "connect(user, password=password, token=token)",
        "the token is expired",
        "the password was wrong",
        "A secret: never push on Fridays.",
        "Basic authentication is used.",
        "Authorization: required",
        "Bearer authentication",
        "bearer of bad news",
        "the --token flag",
        "use --password to set it",
        "tokenizer = BertTokenizer",
        "keyboard=us",
        "primary_key=id",
        "sort key: created_at2",
        "public_key=ssh-rsa",
        "compass: north42x",
        "bypass=abc123def",
        "author: jane42",
        "authors = [\"a1b2c3\"]",
        "monkey=banana42x",
        "password_hash_rounds=12",
        "access_key_id_length: 20",
        "sk-fading-circle-of-things",
        "task-list-of-many-things-to-do",
        "risk-assessment-2026-report",
        "desk-and-chair-with-4-legs-and-more",
        "xai-grok-is-a-model-name",
        "see RFC 7519 (eyJ is how it begins)",
        "the file begins with -----BEGIN PRIVATE KEY----- and ends so",
        "so begins one: -----BEGIN PRIVATE KEY-----é漢🦀 und so weiter 𐭭",
        "AKIA is a prefix",
        "i18n: {\"password\": \"Please enter your password\"}",
        "\"secret\": \"my-app-secret\"",
        "secretName: db-credentials-2",
        "tests/auth/token2.rs",
        "fn secret(&self) -> &Secret",
        "cookie: chocolate",
        "Co-authored-by: A <a@example.com>",
        "SELECT token FROM t WHERE id = 5",
        "git log --author=me --since=2026-01-01",
        "error[E0308]: mismatched types",
        "docker run -p 8080:80 nginx",
        "mysql -h localhost -P 3306",
        "mkdir -p src/core/redact",
        "curl -u \"$USER:$PASSWORD\" https://h",
        "password [REDACTED_PASSWORD] and [REDACTED_OPENAI_KEY]",
    ]);
}
