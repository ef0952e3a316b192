// Mastra as a caller of calls.mjs: a remote agent, used as any sub-agent of Mastra is.

import { pathToFileURL } from "node:url";

import { run } from "./calls.mjs";

const modules = `${pathToFileURL(process.cwd())}/node_modules`;
const { A2AAgent } = await import(`${modules}/@mastra/core/dist/a2a/index.js`);

const protocolVersion = process.argv[3] === "0.3" ? "0.3" : "1.0";

class Conversation {
  constructor(url) {
    this.agent = new A2AAgent({ id: "interop", url, protocolVersion, retries: 0 });
  }

  async say(text) {
    const pieces = [];
    if (!this.runId) {
      const reader = (await this.agent.stream(text)).fullStream;
      for await (const { type, payload } of reader) {
        if (type === "text-delta") pieces.push(payload.text);
      }
    }
    const result = this.runId
      ? await this.agent.resumeGenerate(text, { runId: this.runId })
      : await this.agent.generate(text);
    if (result.finishReason === "suspended") this.runId = result.runId;
    return { answer: result.text, pieces };
  }
}

run((url) => () => new Conversation(url));
