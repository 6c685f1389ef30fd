//! [`Secrets`]: the tokens of a project's daemon, one file each, readable only by its owner.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;

use ctxrelay_core::hex::hex;

use super::dirs::{ProjectDirs, open_private, write_private};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Secret {
    /// `state/claude-token`: Claude's bridge, hooks and doorbell.
    Claude,
    /// `state/codex-token`: Codex's MCP server, over standard input and output or `/mcp`.
    Codex,
    /// `state/token`: clients that only read: decks, the command line, metrics.
    Reader,
    /// `state/proxy-token`: the Codex TUI.
    Proxy,
    /// `state/daemon-identity`: which daemon this is; shown only as a digest.
    Identity,
}

impl Secret {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Reader,
        Self::Proxy,
        Self::Identity,
    ];

    /// The file in the state folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Claude => "claude-token",
            Self::Codex => "codex-token",
            Self::Reader => "token",
            Self::Proxy => "proxy-token",
            Self::Identity => "daemon-identity",
        }
    }

    /// How many random bytes it is made of; twice as many hex digits.
    fn bytes(self) -> usize {
        match self {
            Self::Identity => 16,
            _ => 32,
        }
    }
}

/// All secrets of a project. Never shown: its `Debug` says nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets {
    /// [`Secret::Claude`].
    pub claude: String,
    /// [`Secret::Codex`].
    pub codex: String,
    /// [`Secret::Reader`].
    pub reader: String,
    /// [`Secret::Proxy`].
    pub proxy: String,
    /// [`Secret::Identity`].
    pub identity: String,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets { .. }")
    }
}

/// Reads one secret.
///
/// # Errors
///
/// When there is none, when it is a link, and with kind `InvalidData` when it has not the shape
/// of a secret or others may read it.
pub fn read_token(dirs: &ProjectDirs, secret: Secret) -> io::Result<String> {
    let path = dirs.state_file(secret.file_name());
    let file = open_private(&path)?;
    let invalid = |why: &str| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} {why}", path.display()),
        )
    };
    if file.metadata()?.mode() & 0o077 != 0 {
        return Err(invalid("may be read by others than its owner"));
    }
    let digits = secret.bytes() * 2;
    let mut text = String::new();
    file.take(digits as u64 + 2).read_to_string(&mut text)?;
    let token = text.strip_suffix('\n').unwrap_or(&text);
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if token.len() != digits || !token.bytes().all(is_hex) {
        return Err(invalid("does not hold a token"));
    }
    Ok(token.to_owned())
}

/// Reads all secrets, and makes those that are missing or unfit, all of them if `regenerate`.
///
/// # Errors
///
/// When the system gives no randomness, or the state folder cannot be written.
pub fn ensure(dirs: &ProjectDirs, regenerate: bool) -> io::Result<Secrets> {
    let one = |secret: Secret| {
        if !regenerate && let Ok(token) = read_token(dirs, secret) {
            return Ok(token);
        }
        let token = random_hex(secret.bytes())?;
        let path = dirs.state_file(secret.file_name());
        write_private(&path, format!("{token}\n").as_bytes())?;
        Ok::<_, io::Error>(token)
    };
    Ok(Secrets {
        claude: one(Secret::Claude)?,
        codex: one(Secret::Codex)?,
        reader: one(Secret::Reader)?,
        proxy: one(Secret::Proxy)?,
        identity: one(Secret::Identity)?,
    })
}

/// Random bytes of the operating system as hex digits, two for each byte.
///
/// # Errors
///
/// When the system gives none.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(hex(&random))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::testing::{Place, mode};

    #[test]
    fn secrets_are_made_once_and_kept() {
        let place = Place::new();
        let made = ensure(&place.dirs, false).unwrap();
        let all = [
            &made.claude,
            &made.codex,
            &made.reader,
            &made.proxy,
            &made.identity,
        ];
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 5);
        assert_eq!(all.map(|secret| secret.len()), [64, 64, 64, 64, 32]);
        for secret in Secret::ALL {
            let path = place.dirs.state_file(secret.file_name());
            assert_eq!(mode(&path), 0o600);
            assert!(fs::read_to_string(&path).unwrap().ends_with('\n'));
        }
        assert_eq!(ensure(&place.dirs, false).unwrap(), made);
        assert_eq!(read_token(&place.dirs, Secret::Proxy).unwrap(), made.proxy);
        assert_ne!(ensure(&place.dirs, true).unwrap().reader, made.reader);
        assert!(!format!("{made:?}").contains(&made.reader));
    }

    #[test]
    fn an_unfit_secret_is_replaced_and_the_others_stay() {
        let place = Place::new();
        let made = ensure(&place.dirs, false).unwrap();
        let path = place.dirs.state_file("token");
        let mut before = made.reader.clone();
        for text in ["", "short\n", &"g".repeat(64), &"a".repeat(100)] {
            fs::write(&path, text).unwrap();
            assert!(read_token(&place.dirs, Secret::Reader).is_err());
            let now = ensure(&place.dirs, false).unwrap();
            assert_ne!(now.reader, before);
            assert_eq!(now.proxy, made.proxy);
            before = now.reader;
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(ensure(&place.dirs, false).unwrap().reader, before);
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_link_is_replaced_and_what_it_points_to_is_left_alone() {
        let place = Place::new();
        let elsewhere = place.dir.path().join("elsewhere");
        fs::write(&elsewhere, format!("{}\n", "a".repeat(64))).unwrap();
        std::os::unix::fs::symlink(&elsewhere, place.dirs.state_file("token")).unwrap();
        let made = ensure(&place.dirs, false).unwrap();
        assert_ne!(made.reader, "a".repeat(64));
        assert!(fs::read_to_string(&elsewhere).unwrap().starts_with("aaaa"));
    }
}
