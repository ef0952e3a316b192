// An agent made with Mastra, with a scripted model, served by its adapter for Hono.

import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const modules = `${pathToFileURL(process.cwd())}/node_modules`;
const { Agent } = await import(`${modules}/@mastra/core/dist/agent/index.js`);
const { Mastra } = await import(`${modules}/@mastra/core/dist/mastra/index.js`);
const { MastraServer } = await import(`${modules}/@mastra/hono/dist/index.js`);
const { InMemoryTaskStore } = await import(`${modules}/@mastra/server/dist/server/a2a/store.js`);
const { Hono } = await import(`${modules}/hono/dist/index.js`);
const { getRequestListener } = await import(`${modules}/@hono/node-server/dist/index.mjs`);

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

function pieces(prompt) {
  const said = prompt.filter((each) => each.role === "user");
  const heard = said.flatMap((each) => each.content.map((part) => part.text));
  const [word, ...rest] = heard.at(-1).split(" ");
  if (word === "spell") return rest.map((each) => `${each} `);
  if (word === "recall") return [heard.slice(0, -1).join(" / ")];
  return [rest.join(" ").toUpperCase()];
}

const model = {
  specificationVersion: "v2",
  provider: "script",
  modelId: "scripted",
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const content = [{ type: "text", text: pieces(prompt).join("") }];
    return { content, finishReason: "stop", usage, warnings: [] };
  },
  async doStream({ prompt }) {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        controller.enqueue({ type: "text-start", id: "1" });
        for (const delta of pieces(prompt)) controller.enqueue({ type: "text-delta", id: "1", delta });
        controller.enqueue({ type: "text-end", id: "1" });
        controller.enqueue({ type: "finish", finishReason: "stop", usage });
        controller.close();
      },
    });
    return { stream };
  },
};

const peer = new Agent({ id: "peer", name: "Peer", instructions: "Answer.", model });
const app = new Hono();
const log = console.log;
console.log = console.error;
const mastra = new Mastra({ agents: { peer }, logger: false });
await new MastraServer({ app, mastra, taskStore: new InMemoryTaskStore() }).init();
const server = createServer(getRequestListener(app.fetch));
server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}/api/.well-known/peer/agent-card.json`;
  log(JSON.stringify({ url }));
});
process.stdin.on("end", () => process.exit(0)).resume();
