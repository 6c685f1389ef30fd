//! [`Wish`]: something that a yes grants beyond a sandbox.

use std::fmt;

use serde::{Deserialize, Serialize};

const NETWORK: &str = "the network";
/// Before a wish that stands beside something else; a subject does without.
const TO: &str = "to ";
const REACH: &str = "reach ";
const READ: &str = "read ";
const WRITE: &str = "write ";

/// Something that a yes grants beyond a sandbox. For the person, on record and on the wire it is a
/// line of text, which is written and read here alone. What stands before a host or a path says
/// which wish it is, whatever these are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Wish {
    /// All of the network.
    Network,
    /// Hosts, and the way to them.
    Reach(String),
    /// To read a file, or what is below a folder.
    Read(String),
    /// To write a file, or what is below a folder.
    Write(String),
    /// In other words, as Codex wrote it, or more of a path that has the end of a line in it.
    Other(String),
}

impl Wish {
    /// As the subject of a request that is about nothing else.
    pub fn subject(&self) -> String {
        match self {
            Self::Reach(hosts) => format!("{REACH}{hosts}"),
            wish => wish.to_string(),
        }
    }

    /// The wish to reach hosts that is the subject of a request.
    pub fn reach_of_subject(subject: &str) -> Option<Self> {
        let hosts = subject.strip_prefix(REACH)?;
        Some(Self::Reach(hosts.to_owned()))
    }
}

impl From<&str> for Wish {
    fn from(line: &str) -> Self {
        let after = |before: &str| line.strip_prefix(before).map(str::to_owned);
        let reach = || line.strip_prefix(TO).and_then(Self::reach_of_subject);
        (line == NETWORK)
            .then_some(Self::Network)
            .or_else(reach)
            .or_else(|| after(READ).map(Self::Read))
            .or_else(|| after(WRITE).map(Self::Write))
            .unwrap_or_else(|| Self::Other(line.to_owned()))
    }
}

impl From<String> for Wish {
    fn from(line: String) -> Self {
        Self::from(line.as_str())
    }
}

impl From<Wish> for String {
    fn from(wish: Wish) -> Self {
        wish.to_string()
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network => f.write_str(NETWORK),
            Self::Reach(hosts) => write!(f, "{TO}{REACH}{hosts}"),
            Self::Read(path) => write!(f, "{READ}{path}"),
            Self::Write(path) => write!(f, "{WRITE}{path}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_wish_is_the_line_that_records_have_of_it() {
        for (wish, line) in [
            (Wish::Network, "the network"),
            (
                Wish::Reach("x.org by https".to_owned()),
                "to reach x.org by https",
            ),
            (
                Wish::Reach("the network".to_owned()),
                "to reach the network",
            ),
            (Wish::Read("/a b".to_owned()), "read /a b"),
            (Wish::Read("the network".to_owned()), "read the network"),
            (Wish::Write("read /a".to_owned()), "write read /a"),
            (
                Wish::Other("the network \u{2026}".to_owned()),
                "the network \u{2026}",
            ),
            (Wish::Other("reach x.org".to_owned()), "reach x.org"),
            (Wish::Other("read".to_owned()), "read"),
            (Wish::Other(String::new()), ""),
        ] {
            assert_eq!(wish.to_string(), line);
            assert_eq!(Wish::from(line), wish);
            let json = serde_json::to_string(&wish).unwrap();
            assert_eq!(json, serde_json::to_string(line).unwrap());
            assert_eq!(serde_json::from_str::<Wish>(&json).unwrap(), wish);
        }
    }

    #[test]
    fn a_host_that_is_all_of_a_request_is_its_subject() {
        let host = Wish::Reach("x.org by https".to_owned());
        assert_eq!(host.subject(), "reach x.org by https");
        assert_eq!(Wish::reach_of_subject(&host.subject()), Some(host));
        assert_eq!(Wish::reach_of_subject("to reach x.org"), None);
        assert_eq!(Wish::reach_of_subject("the network"), None);
    }

    const HOSTILE: &str = "(the network|to reach |reach |read |write |to |\n|[a-z /]{0,3}){0,5}";

    proptest! {
        #[test]
        fn no_line_is_changed_by_reading_it(line in HOSTILE) {
            prop_assert_eq!(Wish::from(line.as_str()).to_string(), line);
        }

        #[test]
        fn no_name_of_a_host_or_a_path_hides_what_is_wished(name in HOSTILE) {
            for wish in [Wish::Reach(name.clone()), Wish::Read(name.clone()), Wish::Write(name)] {
                prop_assert_eq!(Wish::from(wish.to_string()), wish);
            }
        }
    }
}
