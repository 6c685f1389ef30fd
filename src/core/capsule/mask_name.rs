//! [`name_expressions`]: the expressions that find the name of a user or a host in a text.

/// Names that systems and programs give to users and hosts by themselves, and that other texts are
/// full of.
const COMMON_NAMES: [&str; 20] = [
    "root",
    "user",
    "admin",
    "ubuntu",
    "debian",
    "runner",
    "node",
    "git",
    "build",
    "test",
    "home",
    "nobody",
    "guest",
    "docker",
    "vscode",
    "localhost",
    "claude",
    "codex",
    "human",
    "import",
];

/// Names that are given to users and hosts, and are everyday words of software.
const ORDINARY_NAMES: &str = "access account actions agent alpha api app apps auth azure \
    azureuser backend base beta bill bin bot box cache ci cli client cloud code codespace coder \
    computer container core cron daemon data database debug default demo deploy deployer dev \
    devel developer develop devops docs edge engine example exec file front frontend ftp gateway \
    generic gitea github gitlab gpu grafana graph host http image infra jenkins job kafka lab \
    laptop lib linux local log login mac machine mail main manager mark master max memory min \
    minio mobile model mongo monitor mysql net network next nginx open ops oracle package parser \
    pipeline player postgres prod production project prometheus proxy public queue redis release \
    remote report repo router run sandbox sales search secure server service session shared shell \
    shop site source spark src ssh stage staging state step storage store stream support sync \
    system task team temp terminal tests token tool tools train ui update upload vagrant video \
    virtual vpn web website will win windows work worker workspace workstation www";

/// Shorter names are parts of other words too often, in characters.
const NAME_CHARS_MIN: usize = 3;

/// Shorter ones are beside `_` parts of other names too often, in characters.
const JOINED_CHARS_MIN: usize = 4;

/// What stands before a name: `_` joins words and is no letter, and in an address a `/` is `%2F`.
const NAME_START: &str = r"(?P<before>^|[^\p{L}\p{N}]|%2[Ff]|%5[Cc])";

/// What stands behind a name.
const NAME_END: &str = r"(?P<after>$|[^\p{L}\p{N}])";

/// A name of every machine's own.
const OWN_HOST: &str = "localhost";

/// The user of each address of a server for git: `git@github.com`.
const GIT_USER: &str = "git";

/// What a common name stands behind as that of a user: in a package's name or an address of a
/// person (`@types/node@latest`, `first.root@`) it is a part of another name.
const USER_START: &str = r"(?P<before>^|//|[^\w./@+-])";

/// What stands behind the name of a user before that of a host, or its address: behind a package's
/// name it is a version, of fewer numbers.
const USER_END: &str = r"(?P<after>@(?:[A-Za-z\[]|\d{1,3}(?:\.\d{1,3}){3}\b))";

/// The expressions that find a name, of a user or else of a host, where it certainly is that name.
/// `own` are what the project's own files and folders are called.
pub(super) fn name_expressions(name: &str, is_user: bool, own: &[String]) -> Vec<String> {
    let escaped = regex::escape(name);
    let home = || format!(r"(?P<before>~){escaped}\b(?P<after>)");
    let host = || vec![format!(r"(?P<before>[\w\]]@){escaped}\b(?P<after>)")];
    let chars = name.chars().count();
    let is_own = own.iter().any(|own| is_called(own, name));
    if name.is_empty() || !is_user && is_version(name) {
        return Vec::new();
    }
    if !is_telling(name) {
        return match name {
            OWN_HOST if !is_user => Vec::new(),
            _ if !is_user => host(),
            GIT_USER => vec![home()],
            _ => {
                // `~x` alone is what programs write for other things too.
                let home = match chars < NAME_CHARS_MIN {
                    true => format!("(?P<before>~){escaped}(?P<after>/)"),
                    false => home(),
                };
                vec![home, format!("{USER_START}{escaped}{USER_END}")]
            }
        };
    }
    match () {
        // Other texts are full of it: only where it certainly names the user or the host.
        () if is_user && (is_own || is_ordinary(name)) => {
            vec![home(), format!(r"(?P<before>)\b{escaped}{USER_END}")]
        }
        () if is_own || is_ordinary(name) => host(),
        // `max_len` is nobody's.
        () if chars < JOINED_CHARS_MIN => {
            vec![format!(r"(?P<before>)\b(?i:{escaped})\b(?P<after>)")]
        }
        // Systems write them small, people as names are written.
        () => vec![format!("{NAME_START}(?i:{escaped}){NAME_END}")],
    }
}

/// Whether somebody's name is an everyday word.
fn is_ordinary(name: &str) -> bool {
    let name = name.to_lowercase();
    ORDINARY_NAMES.split(' ').any(|word| word == name)
}

/// Whether a file or a folder has this name, whatever its ending is.
fn is_called(own: &str, name: &str) -> bool {
    let first = own.split('.').find(|part| !part.is_empty());
    first.is_some_and(|first| first.to_lowercase() == name.to_lowercase())
}

/// Whether the name of a host reads as a version behind the `@` of a package: `2`, `v4`.
fn is_version(name: &str) -> bool {
    let digits = name.strip_prefix('v').unwrap_or(name);
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit());
    is_number && name.chars().count() < NAME_CHARS_MIN
}

/// A name that somebody could be known by, wherever it stands.
fn is_telling(name: &str) -> bool {
    let is_long = name.chars().count() >= NAME_CHARS_MIN;
    let is_in_mark = ["REDACTED_PATH", "REDACTED_USER", "REDACTED_HOST"]
        .iter()
        .any(|mark| mark.contains(name));
    is_long && !is_in_mark && !COMMON_NAMES.contains(&name.to_lowercase().as_str())
}
