// @a2a-js/sdk 1.3 as a peer of scenarios.mjs, over each of its three bindings.

import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";

import { run } from "./scenarios.mjs";

const require = createRequire(`${process.cwd()}/`);
const sdk = require("@a2a-js/sdk");
const { AgentCardResolver, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } =
  require("@a2a-js/sdk/client");
const { GrpcTransportFactory } = require("@a2a-js/sdk/client/grpc");

const TRANSPORTS = {
  JSONRPC: JsonRpcTransportFactory,
  "HTTP+JSON": RestTransportFactory,
  GRPC: GrpcTransportFactory,
};

function part(content) {
  if (typeof content === "string") return { text: content };
  return content.raw ? { ...content, raw: content.raw.toString("base64") } : content;
}

function request(skill, content, options = {}) {
  return sdk.SendMessageRequest.fromJSON({
    message: {
      messageId: randomUUID(),
      role: "ROLE_USER",
      parts: content.map(part),
      taskId: options.taskId ?? options.task?.id,
      contextId: options.contextId ?? options.task?.contextId,
      metadata: { ...(skill && { skillId: skill }), ...options.metadata },
      referenceTaskIds: options.references,
    },
    configuration: {
      acceptedOutputModes: options.outputModes,
      returnImmediately: options.polling ?? false,
      taskPushNotificationConfig: options.pushUrl && { url: options.pushUrl },
    },
    metadata: options.requestMetadata,
  });
}

async function* reading(events) {
  for await (const event of events) yield sdk.StreamResponse.toJSON(event);
}

class Peer {
  constructor(binding, agentCard, client) {
    this.name = `js_1_3 ${binding}`;
    this.agentCard = agentCard;
    this.client = client;
  }

  card = async () => sdk.AgentCard.toJSON(this.agentCard);

  async send(...wanted) {
    const answer = await this.client.sendMessage(request(...wanted));
    return "status" in answer
      ? { task: sdk.Task.toJSON(answer) }
      : { message: sdk.Message.toJSON(answer) };
  }

  stream = (...wanted) => reading(this.client.sendMessageStream(request(...wanted)));

  get = async (id, historyLength) =>
    sdk.Task.toJSON(await this.client.getTask({ tenant: "", id, historyLength }));

  cancel = async (id) => sdk.Task.toJSON(await this.client.cancelTask({ tenant: "", id }));

  subscribe = (id) => reading(this.client.resubscribeTask({ tenant: "", id }));

  pushCalls(taskId, url) {
    const one = { tenant: "", taskId, id: "c-1" };
    const config = sdk.TaskPushNotificationConfig.fromJSON({ ...one, url, token: "secret" });
    const all = sdk.ListTaskPushNotificationConfigsRequest.fromJSON({ taskId });
    // The client itself refuses what the card does not promise.
    const { transport } = this.client;
    const options = { serviceParameters: { "A2A-Version": "1.0" } };
    return {
      create: () => transport.createTaskPushNotificationConfig(config, options),
      get: () => transport.getTaskPushNotificationConfig(one, options),
      list: () => transport.listTaskPushNotificationConfig(all, options),
      delete: () => transport.deleteTaskPushNotificationConfig(one, options),
    };
  }

  facts(error) {
    const { envelopeCode: code, message, metadata: data } = error;
    const isTold = code !== undefined || error.transport !== undefined;
    return isTold ? { error: error.name, code, message, data } : undefined;
  }
}

run(async (url, binding) => {
  const agentCard = await AgentCardResolver.default.resolve(url);
  // Of the interfaces of 1.0 the SDK takes the last, and that is a tenant's.
  agentCard.supportedInterfaces = agentCard.supportedInterfaces.filter((each) => !each.tenant);
  const factory = new ClientFactory({ transports: [new TRANSPORTS[binding]()] });
  return new Peer(binding, agentCard, await factory.createFromAgentCard(agentCard));
});
