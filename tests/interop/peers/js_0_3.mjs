// @a2a-js/sdk 0.3 as a peer of scenarios.mjs, over each of its three bindings.

import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";

import { run } from "./scenarios.mjs";

const require = createRequire(`${process.cwd()}/`);
const { AgentCardResolver, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } =
  require("@a2a-js/sdk/client");
const { GrpcTransportFactory } = require("@a2a-js/sdk/client/grpc");
const { status } = require("@grpc/grpc-js");

const TRANSPORTS = {
  JSONRPC: JsonRpcTransportFactory,
  "HTTP+JSON": RestTransportFactory,
  GRPC: GrpcTransportFactory,
};

const WRAPPERS = {
  task: "task",
  message: "message",
  "status-update": "statusUpdate",
  "artifact-update": "artifactUpdate",
};

const wrap = (told) => ({ [WRAPPERS[told.kind]]: told });

async function* wrapped(events) {
  for await (const event of events) yield wrap(event);
}

function part(content) {
  if (typeof content === "string") return { kind: "text", text: content };
  if ("data" in content) return { kind: "data", data: content.data };
  const held = content.raw ? { bytes: content.raw.toString("base64") } : { uri: content.url };
  return { kind: "file", file: { ...held, mimeType: content.mediaType, name: content.filename } };
}

function params(skill, content, options = {}) {
  return {
    message: {
      kind: "message",
      messageId: randomUUID(),
      role: "user",
      parts: content.map(part),
      taskId: options.taskId ?? options.task?.id,
      contextId: options.contextId ?? options.task?.contextId,
      metadata: { ...(skill && { skillId: skill }), ...options.metadata },
      referenceTaskIds: options.references,
    },
    configuration: {
      acceptedOutputModes: options.outputModes ?? [],
      blocking: !options.polling,
      pushNotificationConfig: options.pushUrl && { url: options.pushUrl },
    },
    metadata: options.requestMetadata,
  };
}

class Peer {
  constructor(binding, agentCard, client) {
    this.name = `js_0_3 ${binding}`;
    this.agentCard = agentCard;
    this.client = client;
  }

  card = async () => this.agentCard;
  send = async (...request) => wrap(await this.client.sendMessage(params(...request)));
  stream = (...request) => wrapped(this.client.sendMessageStream(params(...request)));
  get = (id, historyLength) => this.client.getTask({ id, historyLength });
  cancel = (id) => this.client.cancelTask({ id });
  subscribe = (id) => wrapped(this.client.resubscribeTask({ id }));

  pushCalls(id, url) {
    const one = { id, pushNotificationConfigId: "c-1" };
    const config = { taskId: id, pushNotificationConfig: { id: "c-1", url, token: "secret" } };
    // The client itself refuses what the card does not promise.
    const { transport } = this.client;
    return {
      create: () => transport.setTaskPushNotificationConfig(config),
      get: () => transport.getTaskPushNotificationConfig(one),
      list: () => transport.listTaskPushNotificationConfig({ id }),
      delete: () => transport.deleteTaskPushNotificationConfig(one),
    };
  }

  // What the SDK has no class for is a plain Error, and so is what ends a stream.
  facts(error) {
    if (error.name === "Error" && error.cause) return this.facts(error.cause);
    const told = error.errorResponse?.error;
    return {
      error: error.name === "Error" ? undefined : error.name,
      code: told?.code ?? coded(error.message),
      grpc: status[error.code],
      message: told?.message ?? error.details ?? error.message,
      data: told?.data,
    };
  }
}

function coded(message) {
  const code = /\(Code: (-\d+)\)/.exec(message)?.[1];
  return code && Number(code);
}

run(async (url, binding) => {
  const agentCard = await AgentCardResolver.default.resolve(url);
  const factory = new ClientFactory({ transports: [new TRANSPORTS[binding]()] });
  return new Peer(binding, agentCard, await factory.createFromAgentCard(agentCard));
});
