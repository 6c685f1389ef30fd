//! [`is_secret_path`]: where keys, tokens and passwords usually lie.

/// Folders all of whose files count.
const FOLDERS: [&str; 4] = [".aws", ".gnupg", ".ssh", ".kube"];

/// Files by their whole name.
const NAMES: [&str; 14] = [
    ".env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "auth.json",
    "credentials",
    "credentials.json",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];

/// Files by their ending.
const ENDINGS: [&str; 7] = [".jks", ".key", ".keystore", ".p12", ".pem", ".pfx", ".kdbx"];

/// Endings of files that show what another one looks like.
const EXAMPLES: [&str; 5] = [".dist", ".example", ".pub", ".sample", ".template"];

/// Whether secrets usually lie in a file of this path. Its contents are not looked at.
pub fn is_secret_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.split(['/', '\\']).filter(|part| !part.is_empty());
    let Some(name) = parts.next_back() else {
        return false;
    };
    if EXAMPLES.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    FOLDERS.contains(&name)
        || parts.any(|folder| FOLDERS.contains(&folder))
        || NAMES.contains(&name)
        || name == "id_rsa"
        || name.starts_with(".env.")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}
