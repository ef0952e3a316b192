// a2a-ai-provider as a caller of calls.mjs: a model of the AI SDK.

import { pathToFileURL } from "node:url";
import { randomUUID } from "node:crypto";

import { run } from "./calls.mjs";

const modules = `${pathToFileURL(process.cwd())}/node_modules`;
const { a2a } = await import(`${modules}/a2a-ai-provider/dist/index.js`);
const { generateText, streamText } = await import(`${modules}/ai/dist/index.mjs`);

class Conversation {
  constructor(url) {
    this.model = a2a(`${url}/.well-known/agent-card.json`);
    this.providerOptions = { a2a: { contextId: randomUUID() } };
  }

  async say(prompt) {
    const { model, providerOptions } = this;
    const { text } = await generateText({ model, prompt, providerOptions, maxRetries: 0 });
    const pieces = [];
    const { textStream } = streamText({ model, prompt, providerOptions, onError() {} });
    for await (const piece of textStream) pieces.push(piece);
    return { answer: text, pieces };
  }
}

run((url) => () => new Conversation(url));
