// An agent made with @a2a-js/sdk 0.3, over each of its three bindings.

import { randomUUID } from "node:crypto";

import { NAME, SKILL, VERSION, express, listen, load, perform, serve, stop } from "./play.mjs";

const { DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } =
  await load("@a2a-js/sdk/server");
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } =
  await load("@a2a-js/sdk/server/express");
const { A2AService, grpcService } = await load("@a2a-js/sdk/server/grpc");

const now = () => new Date().toISOString();

class Turn {
  constructor(context, bus) {
    this.ids = { taskId: context.taskId, contextId: context.contextId };
    this.context = context;
    this.bus = bus;
    this.parts = context.userMessage.parts;
    this.words = this.parts
      .filter((part) => part.kind === "text")
      .map((part) => part.text)
      .join("\n");
    this.isAnswer = context.task !== undefined;
  }

  task() {
    const begun = {
      kind: "task",
      id: this.ids.taskId,
      contextId: this.ids.contextId,
      history: [this.context.userMessage],
    };
    // A task that goes on must be shown, too; one that is shown as waiting would end the turn.
    const status = { state: "submitted", timestamp: now() };
    this.bus.publish({ ...(this.context.task ?? begun), status });
  }

  message(text) {
    this.bus.publish(said({ contextId: this.ids.contextId }, text));
  }

  status(state, text) {
    const status = { state: state.toLowerCase().replace("_", "-"), timestamp: now() };
    if (text !== undefined) status.message = said(this.ids, text);
    this.bus.publish({ kind: "status-update", ...this.ids, status, final: state !== "WORKING" });
  }

  artifact(parts, append, lastChunk) {
    const artifact = { artifactId: "result", parts };
    this.bus.publish({ kind: "artifact-update", ...this.ids, artifact, append, lastChunk });
  }

  text = (text) => ({ kind: "text", text });
  data = (data) => ({ kind: "data", data });
  file = (content, mimeType, name) => ({
    kind: "file",
    file: { bytes: content.toString("base64"), mimeType, name },
  });
}

function said(ids, text) {
  const parts = [{ kind: "text", text }];
  return { kind: "message", ...ids, messageId: randomUUID(), role: "agent", parts };
}

class Executor {
  contexts = new Map();

  async execute(context, bus) {
    this.contexts.set(context.taskId, context.contextId);
    await perform(context.taskId, new Turn(context, bus));
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    stop(taskId);
    const status = { state: "canceled", timestamp: now() };
    const contextId = this.contexts.get(taskId);
    bus.publish({ kind: "status-update", taskId, contextId, status, final: true });
    bus.finished();
  }
}

const { server, grpcServer, url, grpcAddress } = await listen();
const card = {
  name: NAME,
  description: "An agent made with @a2a-js/sdk 0.3.",
  version: VERSION,
  protocolVersion: "0.3.0",
  url: `${url}/rpc`,
  preferredTransport: "JSONRPC",
  additionalInterfaces: [
    { url: `${url}/rest`, transport: "HTTP+JSON" },
    { url: grpcAddress, transport: "GRPC" },
  ],
  capabilities: { streaming: true, pushNotifications: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [SKILL],
};
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  new Executor(),
  undefined,
  new InMemoryPushNotificationStore(),
);
const userBuilder = UserBuilder.noAuthentication;
grpcServer.addService(A2AService, grpcService({ requestHandler, userBuilder }));
const app = express();
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
app.use("/rest", restHandler({ requestHandler, userBuilder }));
serve(server, url, app);
