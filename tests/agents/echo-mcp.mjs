// A small MCP server on its pipes: `say` returns its text, as structured content with a text twin.
// By it the tests prove their own MCP client and the way both agents call tools.
import { createInterface } from "node:readline";

const tool = {
  name: "say",
  description: "Returns the text.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  annotations: { readOnlyHint: true },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "echo", version: "0.1.0" },
    instructions: "Call say when you are told to.",
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": ({ name, arguments: { text } }) => {
    if (name !== "say") return { content: [{ type: "text", text: `no tool ${name}` }], isError: true };
    send({ method: "notifications/message", params: { level: "info", data: text } });
    const structuredContent = { said: `echo: ${text}`, length: text.length };
    return { content: [{ type: "text", text: `twin of ${text}` }], structuredContent };
  },
};

const send = (frame) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`);

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const handler = methods[method];
  if (handler) send({ id, result: handler(params ?? {}) });
  else send({ id, error: { code: -32601, message: "Method not found" } });
});
