//! [`is_secret_path`]: where keys, tokens and passwords usually are. [`BETWEEN_WORDS`]: what
//! separates the words of a command that may name such a file.

/// What divides the words in which a file may be named. `@`: `curl -d @FILE` sends it.
pub(super) const BETWEEN_WORDS: [char; 19] = [
    ' ', '\t', '\n', '\'', '"', '`', '=', ';', '|', '&', '(', ')', '<', '>', ',', ':', '@', '{',
    '}',
];

/// Folders all of whose files count.
const FOLDERS: [&str; 4] = [".aws", ".gnupg", ".ssh", ".kube"];

/// Files by their whole name.
const NAMES: [&str; 15] = [
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
    "id_rsa",
];

/// Files by their ending.
const ENDINGS: [&str; 7] = [".jks", ".key", ".keystore", ".p12", ".pem", ".pfx", ".kdbx"];

/// The shortest beginning of a name that is one, in bytes.
const BEGINNING_MIN: usize = 3;

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
        || name.starts_with(".env.")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a pattern of the shell's may mean such a path: before the first sign of one of its parts
/// stands the beginning of a name. A shorter beginning counts of hidden files and keys alone, whose
/// names are not common.
pub(super) fn may_be_secret_path(pattern: &str) -> bool {
    let lower = pattern.to_ascii_lowercase();
    let mut parts = lower.split(['/', '\\']);
    parts.any(|part| {
        let at = part.find(['*', '?', '[']);
        at.is_some_and(|at| may_begin_a_secret(&part[..at]))
    })
}

fn may_begin_a_secret(begins: &str) -> bool {
    let is_example = EXAMPLES.iter().any(|ending| begins.ends_with(ending));
    let mut names = FOLDERS.iter().chain(&NAMES);
    !is_example
        && names.any(|name| {
            let is_rare = name.starts_with(['.', 'i']) && begins.len() >= BEGINNING_MIN;
            begins.starts_with(name) || (is_rare && name.starts_with(begins))
        })
}
