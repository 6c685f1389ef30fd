// A small MCP server on its pipes: `say` returns its text, as structured content with a text twin;
// `ask` has the client ask the person where to deploy, and returns the answer.
// By it the tests prove their own MCP client and the way both agents call tools.
import { createInterface } from "node:readline";

const tool = {
  name: "say",
  description: "Returns the text.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  annotations: { readOnlyHint: true },
};

const ask = {
  name: "ask",
  description: "Asks the person where to deploy.",
  inputSchema: { type: "object", properties: {} },
  annotations: { readOnlyHint: true },
};

const form = {
  type: "object",
  properties: {
    place: { type: "string", title: "Place", enum: ["test", "live"], enumNames: ["the test machine", "the live one"] },
  },
  required: ["place"],
};

const answers = new Map();

const askPerson = () =>
  new Promise((resolve) => {
    const id = `ask-${answers.size + 1}`;
    answers.set(id, resolve);
    send({ id, method: "elicitation/create", params: { message: "Where to?", requestedSchema: form } });
  });

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "echo", version: "0.1.0" },
    instructions: "Call say when you are told to.",
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool, ask] }),
  "tools/call": async ({ name, arguments: given }) => {
    if (name === "ask") return { content: [{ type: "text", text: `answered: ${JSON.stringify(await askPerson())}` }] };
    const { text } = given;
    if (name !== "say") return { content: [{ type: "text", text: `no tool ${name}` }], isError: true };
    send({ method: "notifications/message", params: { level: "info", data: text } });
    const structuredContent = { said: `echo: ${text}`, length: text.length };
    return { content: [{ type: "text", text: `twin of ${text}` }], structuredContent };
  },
};

const send = (frame) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`);

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (id === undefined) return;
  if (method === undefined) return answers.get(id)?.(result);
  const handler = methods[method];
  if (handler) send({ id, result: await handler(params ?? {}) });
  else send({ id, error: { code: -32601, message: "Method not found" } });
});
