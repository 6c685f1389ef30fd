//! The bytes that accompany a capsule: [`CapsulePatch`] and [`CapsuleOutput`].

use sha2::{Digest as _, Sha256};

use crate::base64::{decode, encode};
use crate::capsule::{CapsuleOutput, CapsulePatch};
use crate::hex::hex;

impl CapsulePatch {
    /// Changes on a commit.
    pub fn new(base: String, patch: &[u8]) -> Self {
        Self {
            base,
            sha256: hex(&Sha256::digest(patch)),
            data: encode(patch),
            more: serde_json::Map::new(),
        }
    }

    /// The patch; none when it is not what it says.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        checked(&self.data, &self.sha256)
    }
}

impl CapsuleOutput {
    /// What a gate printed.
    pub fn new(name: String, output: &str) -> Self {
        Self {
            name,
            sha256: hex(&Sha256::digest(output)),
            data: encode(output.as_bytes()),
            more: serde_json::Map::new(),
        }
    }

    /// The output; none when it is not what it says.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        checked(&self.data, &self.sha256)
    }
}

fn checked(data: &str, sha256: &str) -> Option<Vec<u8>> {
    decode(data).filter(|bytes| hex(&Sha256::digest(bytes)) == sha256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capsule::Capsule;
    use crate::id::CapsuleId;
    use crate::wire::capsule::{read, write};

    #[test]
    fn what_comes_along_is_what_it_says_or_the_whole_file_is_refused() {
        let mut capsule = Capsule::new(CapsuleId::new("cap_0123456789ab"), "t", 1);
        let patch = |path: &str| {
            let head = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
            CapsulePatch::new(
                "0".repeat(40),
                format!("{head}@@ -1 +1 @@\n-a\n+b\n").as_bytes(),
            )
        };
        let mut place = |patch: CapsulePatch, output: CapsuleOutput| {
            capsule.patch = Some(patch);
            capsule.outputs = vec![output];
            let (bytes, digest) = write(&capsule).unwrap();
            let read = read(&bytes);
            capsule.digest = digest;
            read.map(|read| assert_eq!(read, capsule))
                .map_err(|bad| bad.place)
        };
        let output = CapsuleOutput::new("test".to_owned(), "red\n");
        place(patch("src/a.rs"), output.clone()).unwrap();
        for path in ["../a", "/a", ".git/hooks/pre-commit", ".contextrelay/x"] {
            let refused = place(patch(path), output.clone());
            assert_eq!(refused.unwrap_err(), "patch.data", "{path}");
        }
        let mut other = patch("a");
        other.data = patch("b").data;
        assert_eq!(place(other, output.clone()).unwrap_err(), "patch.data");
        let mut other = output;
        other.data.push('=');
        assert_eq!(place(patch("a"), other).unwrap_err(), "outputs[0].data");
    }
}
