// An agent made with @a2a-js/sdk 1.3, over each of its three bindings.

import { randomUUID } from "node:crypto";

import { NAME, SKILL, VERSION, express, listen, load, perform, serve, stop } from "./play.mjs";

const sdk = await load("@a2a-js/sdk");
const {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} = await load("@a2a-js/sdk/server");
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
    this.words = sdk.Message.toJSON(context.userMessage)
      .parts.map((part) => part.text)
      .filter((text) => text !== undefined)
      .join("\n");
    this.isAnswer = context.task !== undefined;
  }

  task() {
    const begun = sdk.Task.fromJSON({
      id: this.ids.taskId,
      contextId: this.ids.contextId,
      status: { state: "TASK_STATE_SUBMITTED", timestamp: now() },
    });
    // A task that goes on must be shown, too; one that is shown as waiting would end the turn.
    const known = this.context.task ?? { ...begun, history: [this.context.userMessage] };
    this.bus.publish(AgentEvent.task({ ...known, status: begun.status }));
  }

  message(text) {
    this.bus.publish(AgentEvent.message(said({ contextId: this.ids.contextId }, text)));
  }

  status(state, text) {
    const status = { state: `TASK_STATE_${state}`, timestamp: now() };
    const update = sdk.TaskStatusUpdateEvent.fromJSON({ ...this.ids, status });
    if (text !== undefined) update.status.message = said(this.ids, text);
    this.bus.publish(AgentEvent.statusUpdate(update));
  }

  artifact(parts, append, lastChunk) {
    const update = sdk.TaskArtifactUpdateEvent.fromJSON({
      ...this.ids,
      artifact: { artifactId: "result" },
      append,
      lastChunk,
    });
    update.artifact.parts = parts;
    this.bus.publish(AgentEvent.artifactUpdate(update));
  }

  text = (text) => sdk.Part.fromJSON({ text });
  data = (data) => sdk.Part.fromJSON({ data });
  file = (content, mediaType, filename) =>
    sdk.Part.fromJSON({ raw: content.toString("base64"), mediaType, filename });
}

function said(ids, text) {
  return sdk.Message.fromJSON({
    ...ids,
    messageId: randomUUID(),
    role: "ROLE_AGENT",
    parts: [{ text }],
  });
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
    const status = { state: "TASK_STATE_CANCELED", timestamp: now() };
    const ids = { taskId, contextId: this.contexts.get(taskId) };
    bus.publish(AgentEvent.statusUpdate(sdk.TaskStatusUpdateEvent.fromJSON({ ...ids, status })));
    bus.finished();
  }
}

const { server, grpcServer, url, grpcAddress } = await listen();
const card = sdk.AgentCard.fromJSON({
  name: NAME,
  description: "An agent made with @a2a-js/sdk 1.3.",
  version: VERSION,
  supportedInterfaces: [
    { url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: `${url}/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
    { url: grpcAddress, protocolBinding: "GRPC", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true, pushNotifications: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [SKILL],
});
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
