// An agent that lets in who has signed, as @xpr-agents/sdk sees it, and says which key that was.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

// The packages are those of the folder it is run in.
const sdk = createRequire(`${process.cwd()}/`)("@xpr-agents/sdk");

const card = (url) => ({
  protocolVersion: "0.3.0",
  name: "Notary",
  description: "Says by which key a request is signed.",
  url,
  preferredTransport: "JSONRPC",
  version: "1.0.0",
  capabilities: {},
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "key", name: "Key", description: "Name the key.", tags: ["xpr"] }],
  securitySchemes: { xpr: { type: "http", scheme: "XPR" } },
  security: [{ xpr: [] }],
});

function signer(headers, body) {
  const account = headers["x-xpr-account"];
  const timestamp = Number(headers["x-xpr-timestamp"]);
  if (Math.abs(Date.now() / 1000 - timestamp) > 300) throw new Error("out of time");
  return sdk.recoverA2APublicKey(
    headers["x-xpr-signature"], account, timestamp, sdk.hashBody(body),
  );
}

// A task as the network's own servers write it, with what they leak.
function task(params, said) {
  const heard = params.message.parts.map((part) => `${part.type}=${part.text}`).join();
  const parts = [{ type: "text", text: `${said} ${heard} ${params["xpr:callerAccount"]}` }];
  return {
    id: params.id ?? "task-1",
    owner: "alice",
    status: { state: "completed", timestamp: new Date().toISOString() },
    metadata: params.metadata,
    createdAt: Date.now(),
    artifacts: [{ parts, index: 0 }],
  };
}

function answered(headers, body, path) {
  const { id, params } = JSON.parse(body);
  try {
    const said = `${headers["x-xpr-account"]} ${signer(headers, body)}`;
    if (path === "/a2a") return { jsonrpc: "2.0", id, result: task(params, said) };
    const parts = [{ kind: "text", text: said }];
    return { jsonrpc: "2.0", id, result: { kind: "message", messageId: "m", role: "agent", parts } };
  } catch (problem) {
    return { jsonrpc: "2.0", id, error: { code: -32000, message: String(problem) } };
  }
}

const server = createServer(async (request, response) => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const body = await text(request);
  const answer = request.method === "POST" ? answered(request.headers, body, request.url) : card(url);
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(answer));
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`);
});
process.stdin.resume().on("end", () => process.exit(0));
