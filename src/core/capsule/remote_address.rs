//! [`RemoteAddress`]: the address of an upstream, in any form that people write it.

use crate::redact::mark_names;

/// Ports that say nothing: what each protocol has without one.
const PORTS: [&str; 4] = ["22", "80", "443", "9418"];

/// What two addresses tell of two repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemotesTell {
    /// They are one.
    Same,
    /// They are two.
    Apart,
    /// They are two, or one that got another name on its host, or a copy of it.
    OtherName,
    /// Nothing: one repository has several addresses, and what is masked is not known.
    Nothing,
}

/// An address as host and path, in small letters.
#[derive(Debug, PartialEq, Eq)]
struct RemoteAddress {
    /// Empty of a path on this machine.
    host: String,
    path: String,
}

impl RemoteAddress {
    fn of(url: &str) -> Self {
        let (host, path) = match url.split_once("://") {
            Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
            None => match url.split_once(':') {
                // `host:path`; a path may have a colon behind a slash.
                Some((host, path)) if !host.contains('/') => (host, path),
                _ => ("", url),
            },
        };
        let host = host.rsplit('@').next().unwrap_or_default();
        let host = match host.rsplit_once(':') {
            Some((host, port)) if PORTS.contains(&port) => host,
            _ => host,
        };
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        Self {
            host: host.to_lowercase(),
            path: path.trim_end_matches('/').to_lowercase(),
        }
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// What they tell. A host may have several names, and a repository one on several hosts: only where
/// both host and name differ it is certainly another one.
pub(super) fn remotes_tell(then: &str, here: &str) -> RemotesTell {
    if then == here {
        return RemotesTell::Same;
    }
    let is_masked = |url: &str| mark_names(url).next().is_some();
    if is_masked(then) || is_masked(here) {
        return RemotesTell::Nothing;
    }
    let (then, here) = (RemoteAddress::of(then), RemoteAddress::of(here));
    if then == here {
        return RemotesTell::Same;
    }
    match (then.host != here.host, then.name() != here.name()) {
        (true, true) => RemotesTell::Apart,
        (false, true) => RemotesTell::OtherName,
        (_, false) => RemotesTell::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_several_addresses_and_a_mark_says_nothing() {
        let https = "https://github.com/ann/shop";
        for (then, here, tell) in [
            (https, "github.com:ann/shop.git", RemotesTell::Same),
            (
                https,
                "ssh://git@github.com:22/ann/shop.git/",
                RemotesTell::Same,
            ),
            (https, "https://GitHub.com:443/Ann/Shop/", RemotesTell::Same),
            (
                "https://github.com/[REDACTED_USER]/shop",
                https,
                RemotesTell::Nothing,
            ),
            ("[REDACTED_PATH]", "/srv/git/shop", RemotesTell::Nothing),
            (https, "work-github:ann/shop", RemotesTell::Nothing),
            (https, "/srv/git/shop.git", RemotesTell::Nothing),
            (
                https,
                "https://github.com/bea/shop-fork",
                RemotesTell::OtherName,
            ),
            (https, "https://git.example/bea/blog", RemotesTell::Apart),
            (
                https,
                "https://github.com:8443/bea/blog",
                RemotesTell::Apart,
            ),
            ("/srv/a:b/c", "/srv/a:b/c/", RemotesTell::Same),
        ] {
            assert_eq!(remotes_tell(then, here), tell, "{then} {here}");
            assert_eq!(remotes_tell(here, then), tell, "{here} {then}");
        }
    }
}
