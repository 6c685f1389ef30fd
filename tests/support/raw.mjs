// What an agent's command can do without our program: approves a proposal over the operator's
// socket by hand, and leaves the last answer in a file once each try has one: they are worked on side
// by side.
// usage: node raw.mjs SOCKET PROPOSAL ANSWER [TRIES]
import { renameSync, writeFileSync } from "node:fs";
import { connect } from "node:net";

const [socket, proposal, answer, tries = "1"] = process.argv.slice(2);
const last = Number(tries) + 1;

function frame(id, method, params) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  const length =
    body.length < 126 ? [0x80 | body.length] : [0xfe, body.length >> 8, body.length & 255];
  // Masked with zeros, which changes nothing.
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), body]);
}

function finish(value) {
  writeFileSync(`${answer}.part`, JSON.stringify(value));
  renameSync(`${answer}.part`, answer);
  process.exit(0);
}

const client = connect(socket);
client.on("error", (error) => finish({ error: { message: String(error) } }));
client.on("close", () => finish({ error: { message: "closed without an answer" } }));
client.write(
  [
    "GET /ws HTTP/1.1",
    "Host: localhost",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
    "",
    "",
  ].join("\r\n"),
);
let read = Buffer.alloc(0);
let answered = 0;
let upgraded = false;
client.on("data", (data) => {
  read = Buffer.concat([read, data]);
  if (!upgraded) {
    const end = read.indexOf("\r\n\r\n");
    if (end < 0) return;
    upgraded = true;
    read = read.subarray(end + 4);
    client.write(frame(1, "hello", { protocol: 1, role: "cli", pid: process.pid }));
    for (let id = 2; id <= last; id++) {
      client.write(frame(id, "finality/decide", { proposalId: proposal, approve: true }));
    }
  }
  while (read.length >= 2) {
    let [length, at] = [read[1] & 127, 2];
    if (length === 126) {
      if (read.length < 4) return;
      [length, at] = [read.readUInt16BE(2), 4];
    }
    if (read.length < at + length) return;
    const [kind, body] = [read[0] & 15, read.subarray(at, at + length)];
    read = read.subarray(at + length);
    if (kind !== 1) continue;
    const value = JSON.parse(body.toString());
    answered += typeof value.id === "number" ? 1 : 0;
    if (answered === last) finish(value);
  }
});
