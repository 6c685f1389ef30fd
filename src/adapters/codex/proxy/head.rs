//! The head of an upgrade request: read with limits, checked, rebuilt.

use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::adapters::codex::server::Upstream;

/// A terminal's head is some 300 bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Why a connection does not become one to the app-server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyRefusal {
    /// No request that we can read.
    Malformed,
    /// The head is too long.
    TooLarge,
    /// The head did not come in time.
    Slow,
    /// No upgrade: somebody with a browser or a health check.
    NotFound,
    /// `Host` is not us: somebody was led here.
    Host,
    /// A page in a browser.
    Origin,
    /// No token, a wrong one, or two.
    Token,
    /// There are too many others.
    Full,
    /// There is none, and none could be started.
    NoAppServer,
}

impl ProxyRefusal {
    /// The answer.
    pub(super) fn response(self) -> String {
        let (status, body) = match self {
            Self::Malformed => (
                "400 Bad Request",
                "not a request that this port understands",
            ),
            Self::TooLarge => (
                "431 Request Header Fields Too Large",
                "the head is too long",
            ),
            Self::Slow => ("408 Request Timeout", "the head did not come in time"),
            Self::NotFound => ("404 Not Found", "this port is for the codex terminal"),
            Self::Host => ("403 Forbidden", "wrong host"),
            Self::Origin => ("403 Forbidden", "not for browsers"),
            Self::Token => (
                "401 Unauthorized",
                "wrong token: start the terminal with `ctxrelay codex`",
            ),
            Self::Full => ("503 Service Unavailable", "too many connections"),
            Self::NoAppServer => (
                "503 Service Unavailable",
                "codex app-server is not running: `ctxrelay status` says why",
            ),
        };
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}\n",
            body.len() + 1
        )
    }
}

/// A head, and what came with it.
#[derive(Debug)]
pub(super) struct RequestHead {
    /// Up to and with the empty line.
    pub(super) bytes: Vec<u8>,
    /// Behind it.
    pub(super) rest: Vec<u8>,
}

/// Reads up to the empty line.
pub(super) async fn read_head(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<RequestHead, ProxyRefusal> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        let searched = bytes.len();
        let read = stream.read_buf(&mut bytes).await;
        if !matches!(read, Ok(1..)) {
            return Err(ProxyRefusal::Malformed);
        }
        // The end may straddle two reads.
        let from = searched.saturating_sub(3);
        if let Some(at) = bytes[from..]
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
        {
            let rest = bytes.split_off(from + at + 4);
            if bytes.len() > HEAD_BYTES_MAX {
                return Err(ProxyRefusal::TooLarge);
            }
            return Ok(RequestHead { bytes, rest });
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(ProxyRefusal::TooLarge);
        }
    }
}

/// An upgrade request that may go on to the app-server.
#[derive(Debug)]
pub(super) struct Upgrade {
    target: String,
    /// Those that are passed on.
    headers: Vec<(String, String)>,
}

/// Checks a head against the port that it came to and the token that it must show.
pub(super) fn check(head: &[u8], port: u16, token: &str) -> Result<Upgrade, ProxyRefusal> {
    let head = std::str::from_utf8(head).map_err(|_| ProxyRefusal::Malformed)?;
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let mut request = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (request.next(), request.next(), request.next());
    let (Some(method), Some(target), Some("HTTP/1.1"), None) =
        (method, target, version, request.next())
    else {
        return Err(ProxyRefusal::Malformed);
    };
    let headers = lines.map(header).collect::<Option<Vec<_>>>();
    let headers = headers.ok_or(ProxyRefusal::Malformed)?;
    let named = |name: &'static str| {
        headers
            .iter()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    };

    let mut hosts = named("host");
    let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if ours.iter().any(|name| host.eq_ignore_ascii_case(name)) => {}
        _ => return Err(ProxyRefusal::Host),
    }
    if named("origin").next().is_some() {
        return Err(ProxyRefusal::Origin);
    }
    let upgrades = named("upgrade").any(|value| value.eq_ignore_ascii_case("websocket"));
    if method != "GET" || !target.starts_with('/') || !upgrades {
        return Err(ProxyRefusal::NotFound);
    }
    // Two of them: whom would the app-server believe?
    let mut shown = named("authorization");
    let (Some(shown), None) = (shown.next(), shown.next()) else {
        return Err(ProxyRefusal::Token);
    };
    let wanted = format!("Bearer {token}");
    if token.is_empty() || !bool::from(shown.as_bytes().ct_eq(wanted.as_bytes())) {
        return Err(ProxyRefusal::Token);
    }
    // An upgrade has no body. One that says so would be read differently by two servers.
    if named("content-length").any(|length| length != "0")
        || named("transfer-encoding").next().is_some()
    {
        return Err(ProxyRefusal::Malformed);
    }
    Ok(Upgrade {
        target: target.to_owned(),
        headers: headers
            .iter()
            .filter(|(name, _)| {
                PASSED_ON
                    .iter()
                    .any(|passed| name.eq_ignore_ascii_case(passed))
            })
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    })
}

/// What the app-server needs for the upgrade. Not passed on, on purpose: extensions and
/// `x-codex-app-server-compression`, `Origin`, `Host`, and the token, which is ours alone.
const PASSED_ON: [&str; 6] = [
    "connection",
    "upgrade",
    "sec-websocket-version",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "user-agent",
];

/// One header line; `None` for anything that two readers could understand in two ways.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return None;
    }
    let value = value.trim_matches([' ', '\t']);
    let is_plain = |c: char| c == '\t' || !c.is_control();
    value.chars().all(is_plain).then_some((name, value))
}

impl Upgrade {
    /// The request for the app-server.
    pub(super) fn rebuilt(&self, upstream: &Upstream) -> Vec<u8> {
        let mut head = format!(
            "GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n",
            self.target, upstream.port
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Authorization: Bearer {}\r\n\r\n", upstream.token));
        head.into_bytes()
    }
}

#[cfg(test)]
#[path = "../tests/head.rs"]
mod tests;
