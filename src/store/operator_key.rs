//! [`OperatorKey`]: the key that signs for the operator. It lies outside the projects, encrypted
//! under a passphrase that is on no disk; if it is a person's SSH key, only its public half is
//! stored.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ed25519_dalek::{Signer as _, SigningKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::dirs::{UserDirs, if_there, make_private_dir, read_private, write_private};
use ctxrelay_core::hex::{hex, unhex};
use ctxrelay_core::signer::{KEY_BYTES, NoSshKey, Signer};

/// More than any key file is long.
const FILE_BYTES_MAX: u64 = 16 * 1024;

/// The shape of the file that this version writes.
const VERSION: u32 = 1;

/// What argon2id takes: 64 MiB and three passes, about what RFC 9106 advises for machines that are
/// no servers. What a file asks for beyond [`MEMORY_KIB_MAX`] and [`PASSES_MAX`] is refused.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const MEMORY_KIB_MAX: u32 = 1024 * 1024;
const PASSES_MAX: u32 = 16;

const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;

/// The shortest passphrase that is taken for a new key, in characters.
pub const PASSPHRASE_CHARS_MIN: usize = 8;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// None was made.
    #[error("there is no key")]
    Missing,
    /// There is one already.
    #[error("there is a key already")]
    Exists,
    /// The file is not one of ours, or damaged.
    #[error("the key file is not one that this version can read")]
    Unreadable,
    /// The passphrase is not the one, or the file was changed.
    #[error("that is not the passphrase, or the key file was changed")]
    Wrong,
    /// It is a person's SSH key, which is not here.
    #[error("it is an SSH key, which has no passphrase here")]
    IsSsh,
    /// That is no SSH key which can be used.
    #[error(transparent)]
    NoSshKey(#[from] NoSshKey),
    /// The file that is to be the public key cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    NoPublicKey { path: PathBuf, source: io::Error },
    /// The disk.
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum KeyFile {
    Sealed(SealedKey),
    Ssh(SshKey),
}

impl KeyFile {
    fn version(&self) -> u32 {
        match self {
            Self::Sealed(file) => file.version,
            Self::Ssh(file) => file.version,
        }
    }
}

/// A person's SSH key: `ssh-keygen` or the agent has the other half.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SshKey {
    version: u32,
    signer: Signer,
    public_key: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SealedKey {
    version: u32,
    signer: Signer,
    memory_kib: u32,
    passes: u32,
    salt: String,
    nonce: String,
    sealed: String,
}

/// An unlocked key; forgotten with this value.
pub struct OperatorKey {
    key: SigningKey,
}

impl fmt::Debug for OperatorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorKey")
            .field("signer", &self.signer().fingerprint())
            .finish_non_exhaustive()
    }
}

/// The public half of the key, as the file says it: nobody has shown yet that it is so.
///
/// # Errors
///
/// When there is no file, or none that can be read.
pub fn read(user: &UserDirs) -> Result<Signer, KeyError> {
    Ok(match file(user)? {
        KeyFile::Sealed(file) => file.signer,
        KeyFile::Ssh(file) => file.signer,
    })
}

/// Where the public half of the person's SSH key lies; `None` for a key of our own.
///
/// # Errors
///
/// As [`read`].
pub fn ssh_key(user: &UserDirs) -> Result<Option<PathBuf>, KeyError> {
    Ok(match file(user)? {
        KeyFile::Sealed(_) => None,
        KeyFile::Ssh(file) => Some(file.public_key),
    })
}

/// A person's SSH key, by its `.pub` file, and where that lies. It is not taken yet.
///
/// # Errors
///
/// When there is a key already, or the file is no public key.
pub fn read_ssh(user: &UserDirs, public_key: &Path) -> Result<(Signer, PathBuf), KeyError> {
    must_be_missing(user)?;
    let public_key = std::path::absolute(public_key)?;
    let mut text = String::new();
    let read = std::fs::File::open(&public_key)
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
    if let Err(source) = read {
        let path = public_key;
        return Err(KeyError::NoPublicKey { path, source });
    }
    Ok((Signer::from_openssh(&text)?, public_key))
}

/// Takes a person's SSH key.
///
/// # Errors
///
/// When there is a key already, or ours cannot be written.
pub fn take_ssh(user: &UserDirs, signer: Signer, public_key: PathBuf) -> Result<(), KeyError> {
    must_be_missing(user)?;
    let file = KeyFile::Ssh(SshKey {
        version: VERSION,
        signer,
        public_key,
    });
    write(user, &file)
}

/// Refuses where a new key would take the place of something.
///
/// # Errors
///
/// What is there: a key, or a file that is none.
pub fn must_be_missing(user: &UserDirs) -> Result<(), KeyError> {
    match file(user) {
        Err(KeyError::Missing) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(KeyError::Exists),
    }
}

fn write(user: &UserDirs, file: &KeyFile) -> Result<(), KeyError> {
    let path = user.operator_key();
    if let Some(dir) = path.parent() {
        make_private_dir(dir)?;
    }
    let text = serde_json::to_vec_pretty(file).map_err(io::Error::other)?;
    Ok(write_private(&path, &text)?)
}

/// Makes a new key and writes it.
///
/// # Errors
///
/// When there is one already, or the file cannot be written.
pub fn create(user: &UserDirs, passphrase: &str) -> Result<OperatorKey, KeyError> {
    must_be_missing(user)?;
    let mut seed = Zeroizing::new([0; KEY_BYTES]);
    let (mut salt, mut nonce) = ([0; SALT_BYTES], [0; NONCE_BYTES]);
    for bytes in [&mut seed[..], &mut salt[..], &mut nonce[..]] {
        getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))?;
    }
    let key = OperatorKey {
        key: SigningKey::from_bytes(&seed),
    };
    let signer = key.signer();
    let wrapping = wrapping_key(passphrase, &salt, MEMORY_KIB, PASSES)?;
    let payload = Payload {
        msg: &seed[..],
        aad: signer.as_str().as_bytes(),
    };
    let sealed = XChaCha20Poly1305::new((&*wrapping).into())
        .encrypt(XNonce::from_slice(&nonce), payload)
        .map_err(|_| KeyError::Unreadable)?;
    let made = KeyFile::Sealed(SealedKey {
        version: VERSION,
        signer,
        memory_kib: MEMORY_KIB,
        passes: PASSES,
        salt: hex(&salt),
        nonce: hex(&nonce),
        sealed: hex(&sealed),
    });
    write(user, &made)?;
    Ok(key)
}

/// Unlocks the key.
///
/// # Errors
///
/// When there is none, or the passphrase is not the one.
pub fn unlock(user: &UserDirs, passphrase: &str) -> Result<OperatorKey, KeyError> {
    let KeyFile::Sealed(file) = file(user)? else {
        return Err(KeyError::IsSsh);
    };
    let (Some(salt), Some(nonce), Some(sealed)) =
        (unhex(&file.salt), unhex(&file.nonce), unhex(&file.sealed))
    else {
        return Err(KeyError::Unreadable);
    };
    if nonce.len() != NONCE_BYTES
        || file.memory_kib > MEMORY_KIB_MAX
        || !(1..=PASSES_MAX).contains(&file.passes)
    {
        return Err(KeyError::Unreadable);
    }
    let wrapping = wrapping_key(passphrase, &salt, file.memory_kib, file.passes)?;
    let payload = Payload {
        msg: &sealed,
        aad: file.signer.as_str().as_bytes(),
    };
    let seed = XChaCha20Poly1305::new((&*wrapping).into())
        .decrypt(XNonce::from_slice(&nonce), payload)
        .map_err(|_| KeyError::Wrong)?;
    let seed = Zeroizing::new(seed);
    let seed: &[u8; KEY_BYTES] = seed[..].try_into().map_err(|_| KeyError::Unreadable)?;
    let key = OperatorKey {
        key: SigningKey::from_bytes(seed),
    };
    // Sealed with it; a file put together of two is refused above.
    match key.signer() == file.signer {
        true => Ok(key),
        false => Err(KeyError::Wrong),
    }
}

/// Removes the key file.
///
/// # Errors
///
/// When there is none, or it cannot be removed.
pub fn remove(user: &UserDirs) -> Result<(), KeyError> {
    let removed = if_there(std::fs::remove_file(user.operator_key()))?;
    removed.ok_or(KeyError::Missing)
}

fn file(user: &UserDirs) -> Result<KeyFile, KeyError> {
    let text = if_there(read_private(&user.operator_key(), FILE_BYTES_MAX))?;
    let text = text.ok_or(KeyError::Missing)?;
    match serde_json::from_slice::<KeyFile>(&text) {
        Ok(file) if file.version() == VERSION => Ok(file),
        _ => Err(KeyError::Unreadable),
    }
}

fn wrapping_key(
    passphrase: &str,
    salt: &[u8],
    memory_kib: u32,
    passes: u32,
) -> Result<Zeroizing<[u8; 32]>, KeyError> {
    let params = Params::new(memory_kib, passes, 1, Some(32)).map_err(|_| KeyError::Unreadable)?;
    let mut key = Zeroizing::new([0; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.as_bytes(), salt, &mut key[..])
        .map_err(|_| KeyError::Unreadable)?;
    Ok(key)
}

impl OperatorKey {
    /// The public half.
    pub fn signer(&self) -> Signer {
        Signer::new(self.key.verifying_key().as_bytes())
    }

    /// Signs the bytes of a statement; the value in hex.
    pub fn value(&self, bytes: &[u8]) -> String {
        hex(&self.key.sign(bytes).to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::testing::Place;

    #[test]
    fn a_key_is_unlocked_by_its_passphrase_alone_and_lies_nowhere_in_the_clear() {
        let place = Place::new();
        let user = &place.user;
        assert!(matches!(read(user), Err(KeyError::Missing)));
        let made = create(user, "correct horse").unwrap();
        assert!(matches!(create(user, "another one"), Err(KeyError::Exists)));
        let path = user.operator_key();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&hex(made.key.as_bytes())));
        assert!(!text.contains("horse"));

        assert_eq!(read(user).unwrap(), made.signer());
        let unlocked = unlock(user, "correct horse").unwrap();
        assert_eq!(unlocked.signer(), made.signer());
        assert!(unlocked.signer().verifies(b"x", &unlocked.value(b"x")));
        assert!(matches!(
            unlock(user, "correct house"),
            Err(KeyError::Wrong)
        ));

        // The public half of somebody else in our file.
        let stranger = Signer::new(SigningKey::from_bytes(&[1; 32]).verifying_key().as_bytes());
        std::fs::write(
            &path,
            text.replace(made.signer().as_str(), stranger.as_str()),
        )
        .unwrap();
        assert!(matches!(
            unlock(user, "correct horse"),
            Err(KeyError::Wrong)
        ));
        // A file that would eat the machine.
        std::fs::write(&path, text.replace("65536", "4294967295")).unwrap();
        assert!(matches!(
            unlock(user, "correct horse"),
            Err(KeyError::Unreadable)
        ));
        // Nor is one taken for nothing that cannot be read.
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(
            create(user, "another one"),
            Err(KeyError::Unreadable)
        ));
        remove(user).unwrap();
        assert!(matches!(remove(user), Err(KeyError::Missing)));
    }
}
