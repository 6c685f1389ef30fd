//! What a command in Codex's sandbox can do with the token of Claude's bridge.

use crate::pair::attached_codex;
use crate::support::model_request::{says, tool_said};
use crate::support::operator;
use crate::support::pair::Pair;
use crate::support::script::Reply;

/// Reads the token and tries every door; `%` stands for node, the control port and the operator's
/// socket.
const PROBE: &str = r#"
test -n "$(cat .contextrelay/state/claude-token 2>/dev/null)" && echo "token: read" || echo "token: refused"
% -e '
const net = require("net");
const [port, socket] = process.argv.slice(1);
const dial = (name, where) => new Promise((done) => {
  const client = net.connect(where);
  client.on("connect", () => { console.log(name + ": open"); client.destroy(); done(); });
  client.on("error", (error) => { console.log(name + ": refused " + error.code); done(); });
});
dial("port", { host: "127.0.0.1", port: Number(port) }).then(() => dial("socket", { path: socket }));
' % %
(echo x >.contextrelay/state/planted) 2>/dev/null && echo "record: written" || echo "record: refused"
echo "probe: over"
"#;

/// What the probe said to Codex's model, in this sandbox.
fn probe(mode: &str) -> Option<String> {
    let pair = Pair::new()?;
    let config = pair.codex_home.config();
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text
        .replace("\"on-request\"", "\"never\"")
        .replace("\"read-only\"", &format!("{mode:?}"));
    std::fs::write(&config, text).unwrap();
    let _daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    let node = pair.project.program("node").program.display().to_string();
    let port = pair.project.ports.control.to_string();
    let socket = operator::socket(&pair.project).display().to_string();
    let probe = [node, port, socket]
        .iter()
        .fold(PROBE.to_owned(), |probe, word| probe.replacen('%', word, 1));
    let path = pair.project.base().join("probe.sh");
    std::fs::write(path, probe).unwrap();
    pair.responses
        .when(says("probe it"))
        .once()
        .reply(Reply::shell("sh ../probe.sh 2>&1"));
    codex.submit("probe it");
    let told = pair
        .responses
        .wait_for_request("what the probe said", tool_said("probe: over"));
    Some(told.tool_text())
}

#[test]
fn a_sandboxed_command_of_codex_reads_claudes_token_and_finds_no_door_to_use_it() {
    for mode in ["read-only", "workspace-write"] {
        let Some(said) = probe(mode) else { return };
        assert!(said.contains("token: read"), "{mode}: {said}");
        assert!(said.contains("port: refused"), "{mode}: {said}");
        assert!(said.contains("socket: refused"), "{mode}: {said}");
        let written = said.contains("record: written");
        assert_eq!(written, mode == "workspace-write", "{mode}: {said}");
    }
}
