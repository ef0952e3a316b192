// @a2a-js/sdk 1.3 at guarded agents, over each of its three bindings; see guarded.py for what it reads
// and writes.
//
// Over HTTP, the SDK's own fetch shows nothing until it is refused, and then what its handler has for
// the challenge. Over gRPC, an interceptor shows what the card asks for.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { request as open } from "node:https";
import { createRequire } from "node:module";
import { Readable } from "node:stream";

const require = createRequire(`${process.cwd()}/`);
const sdk = require("@a2a-js/sdk");
const {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} = require("@a2a-js/sdk/client");
const { GrpcTransportFactory } = require("@a2a-js/sdk/client/grpc");
const grpc = require("@grpc/grpc-js");

// What fetch does, with a certificate: that of Node has no way to be given one.
function fetchOver({ ca, certificate, key }) {
  const files = {
    ca: readFileSync(ca),
    cert: certificate && readFileSync(certificate),
    key: key && readFileSync(key),
  };
  return (url, { method = "GET", headers, body } = {}) =>
    new Promise((resolve, reject) => {
      const sent = Object.fromEntries(new Headers(headers));
      const call = open(url, { method, headers: sent, ...files }, (answer) =>
        resolve(
          new Response(Readable.toWeb(answer), {
            status: answer.statusCode,
            headers: answer.headers,
          }),
        ),
      );
      call.on("error", reject).end(body);
    });
}

// The header that a credential goes into, as the card says.
function headerFor(card, { scheme, credential }) {
  const { apiKeySecurityScheme } = sdk.AgentCard.toJSON(card).securitySchemes[scheme];
  return apiKeySecurityScheme
    ? { [apiKeySecurityScheme.name]: credential }
    : { Authorization: `Bearer ${credential}` };
}

function showingWhenAsked(fetchImpl, shown, challenges) {
  let known = {};
  return createAuthenticatingFetchWithRetry(fetchImpl, {
    headers: async () => known,
    shouldRetryWithHeaders: async (_, { status, headers }) => {
      if (status !== 401) return undefined;
      challenges.push(headers.get("www-authenticate"));
      return shown;
    },
    onSuccessfulRetry: async (headers) => {
      known = headers;
    },
  });
}

const showingAlways = (shown) => ({
  before: async (args) => {
    const parameters = { ...args.options?.serviceParameters, ...shown };
    args.options = { ...args.options, serviceParameters: parameters };
  },
  after: async () => {},
});

function transportFor(visit, card, fetchImpl, challenges) {
  const shown = visit.credential ? headerFor(card, visit) : undefined;
  if (visit.binding === "GRPC") {
    const grpcChannelCredentials = visit.tls
      ? grpc.credentials.createSsl(
          ...[visit.tls.ca, visit.tls.key, visit.tls.certificate].map((path) => readFileSync(path)),
        )
      : undefined;
    return {
      transports: [new GrpcTransportFactory({ grpcChannelCredentials })],
      clientConfig: shown && { interceptors: [showingAlways(shown)] },
    };
  }
  const Factory = visit.binding === "JSONRPC" ? JsonRpcTransportFactory : RestTransportFactory;
  const authenticating = showingWhenAsked(fetchImpl, shown, challenges);
  return { transports: [new Factory({ fetchImpl: authenticating })] };
}

const said = (text) =>
  sdk.SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] },
  });

async function told(call) {
  try {
    return await call();
  } catch (error) {
    const cause = error.cause?.code ?? error.cause?.message;
    return { refused: { error: error.name, message: error.message, code: error.code, cause } };
  }
}

async function last(events) {
  let event;
  for await (event of events);
  return sdk.StreamResponse.toJSON(event);
}

async function make(visit) {
  const fetchImpl = visit.tls ? fetchOver(visit.tls) : fetch;
  const challenges = [];
  const resolver = new DefaultAgentCardResolver({ fetchImpl });
  let card;
  const arrival = await told(async () => {
    card = await resolver.resolve(visit.url);
  });
  if (card === undefined) return { card: arrival };
  const { securitySchemes, securityRequirements } = sdk.AgentCard.toJSON(card);
  const factory = new ClientFactory(transportFor(visit, card, fetchImpl, challenges));
  const client = await factory.createFromAgentCard(card);
  const send = await told(async () => sdk.Task.toJSON(await client.sendMessage(said("sent"))));
  const stream = await told(() => last(client.sendMessageStream(said("streamed"))));
  const id = send.id ?? "t-1";
  const get = await told(async () => sdk.Task.toJSON(await client.getTask({ tenant: "", id })));
  const security = { schemes: securitySchemes, requirements: securityRequirements };
  return { card: security, send, stream, get, challenges };
}

const seen = [];
for (const visit of JSON.parse(readFileSync(0, "utf8"))) seen.push(await make(visit));
process.stdout.write(JSON.stringify(seen), () => process.exit());
