// The scenarios of scenarios.py for the JavaScript SDKs; peer.py says what a peer is.
//
//     node DRIVER URL BINDING SCENARIO...
//
// A driver (js_0_3.mjs, js_1_3.mjs) is run in the folder where its SDK is installed. Content is a
// text, {raw, mediaType, filename?}, {url, mediaType, filename} or {data}.

import { setTimeout as sleep } from "node:timers/promises";

// Longer than any scenario takes; what hangs is cut off here.
const SCENARIO_MS = 10_000;

export async function everything(events) {
  const seen = [];
  for await (const event of events) seen.push(event);
  return seen;
}

// Returns the error that a call ends with, or the result it should not have had.
async function refusal(peer, call) {
  try {
    return { result: await call };
  } catch (error) {
    const facts = peer.facts(error);
    if (facts === undefined) throw error;
    return facts;
  }
}

// --- sending -------------------------------------------------------------------------------------

const card = (peer) => peer.card();

const send = (peer) => peer.send("shout", ["hello"]);

const send_to_the_default_skill = (peer) => peer.send(undefined, ["no skill named"]);

async function send_without_waiting(peer) {
  const gate = `${peer.name} polling`;
  const begun = (await peer.send("hold", [gate], { polling: true })).task;
  await peer.send("open_gate", [gate]);
  let task = begun;
  while (!JSON.stringify(task.artifacts ?? []).includes("after")) {
    await sleep(20);
    task = await peer.get(begun.id);
  }
  return { begun, later: task };
}

async function direct_message(peer) {
  const answered = await peer.send("greet", ["Ada"], { contextId: "ctx-direct" });
  return { answered, streamed: await everything(peer.stream("greet", ["Ada"])) };
}

const stream = (peer) => everything(peer.stream("spell", ["to be or not"]));

const rejected = (peer) => peer.send("decline", ["tea"]);

async function failed(peer) {
  const answered = await peer.send("fail", ["word"]);
  return { answered, streamed: await everything(peer.stream("fail", ["word"])) };
}

// --- parts ---------------------------------------------------------------------------------------

async function files(peer) {
  const content = Buffer.from(Array.from({ length: 256 * 40 }, (_, i) => i % 256));
  const raw = { raw: content, mediaType: "image/png", filename: "gr\u00fcn.png" };
  const url = { url: "https://files.example/a?b=c&d", mediaType: "image/png", filename: "a.png" };
  return {
    sent_raw: content.toString("base64"),
    reversed_raw: Buffer.from(content).reverse().toString("base64"),
    reversed: await peer.send("reverse", [raw]),
    streamed: await everything(peer.stream("reverse", [raw])),
    mirrored: await peer.send("mirror", [url, raw]),
  };
}

// Objects, which are all that a data part could hold before 1.0; 0.3.14 cannot write null on gRPC.
const DATA = [
  { nested: { list: [1, 2.5, -3e30, { deep: [[], {}] }], "": "empty key" } },
  {
    unicode: '\u017elu\u0165ou\u010dk\u00fd \u{1f40e} \x00 "quoted" \\ \t\r\n',
    "kl\u00ed\u010d": true,
  },
  {},
];

async function data(peer) {
  const parts = DATA.map((value) => ({ data: value }));
  const answer = await peer.send("mirror", parts);
  const streamed = await everything(peer.stream("mirror", parts));
  return {
    sent: DATA,
    answered: answer.task.artifacts[0],
    streamed: streamed.flatMap((event) => event.artifactUpdate ?? []),
    stored: await peer.get(answer.task.id),
    added: await peer.send("add", [{ data: { a: 40, b: 2 } }]),
  };
}

async function line_separators(peer) {
  const text = "next \x85 line \u2028 paragraph \u2029 end";
  const streamed = await everything(peer.stream("mirror", [text]));
  return { sent: text, answered: await peer.send("mirror", [text]), streamed };
}

const metadata = (peer) =>
  peer.send("mirror", ["look"], {
    metadata: { trace: { id: "t-1", hops: [1, 2] } },
    requestMetadata: { priority: "high" },
    references: ["earlier-1", "earlier-2"],
    outputModes: ["text/plain", "application/json"],
  });

// --- tasks ---------------------------------------------------------------------------------------

async function get(peer) {
  const { task } = await peer.send("book", ["Oslo"]);
  await peer.send("book", ["Monday"], { task });
  return {
    whole: await peer.get(task.id),
    last_two: await peer.get(task.id, 2),
    zero: await peer.get(task.id, 0),
  };
}

// Reads a stream of the hold skill up to where it waits; it can be read on.
async function untilHolding(events) {
  const seen = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done) throw new Error(`the stream has ended: ${JSON.stringify(seen)}`);
    seen.push(value);
    if (JSON.stringify(value).includes("Holding.")) return seen;
  }
}

async function cancel(peer) {
  const events = peer.stream("hold", [`${peer.name} cancel`]);
  const taskId = (await untilHolding(events))[0].task.id;
  const answer = await peer.cancel(taskId);
  const rest = await everything(events);
  const stored = await peer.get(taskId);
  return { answer, rest, stored, again: await refusal(peer, peer.cancel(taskId)) };
}

async function subscribe(peer) {
  const gate = `${peer.name} subscribe`;
  const broken = peer.stream("hold", [gate]);
  const begun = await untilHolding(broken);
  await broken.return();
  const taskId = begun[0].task.id;
  const events = peer.subscribe(taskId);
  const snapshot = (await events.next()).value;
  await peer.send("open_gate", [gate]);
  const rest = await everything(events);
  return { begun, snapshot, rest, stored: await peer.get(taskId) };
}

async function input_required(peer) {
  const asked = (await peer.send("book", ["Paris"])).task;
  return {
    asked,
    again: (await peer.send("book", ["Tuesday"], { taskId: asked.id })).task,
    misfit: (await peer.send("book", ["several"], { task: asked })).task,
    done: (await peer.send("book", ["2"], { task: asked })).task,
  };
}

async function input_required_in_streams(peer) {
  const asked = await everything(peer.stream("book", ["Riga"]));
  const { task } = asked[0];
  const again = await everything(peer.stream("book", ["Sunday"], { task }));
  return { asked, again, done: await everything(peer.stream("book", ["4"], { task })) };
}

// --- errors --------------------------------------------------------------------------------------

async function unknown_task(peer) {
  const taskId = "no-such-task";
  return {
    get: await refusal(peer, peer.get(taskId)),
    cancel: await refusal(peer, peer.cancel(taskId)),
    send: await refusal(peer, peer.send("shout", ["hi"], { taskId })),
    stream: await refusal(peer, everything(peer.stream("shout", ["hi"], { taskId }))),
  };
}

async function finished_task(peer) {
  const taskId = (await peer.send("shout", ["done"])).task.id;
  return {
    task_id: taskId,
    cancel: await refusal(peer, peer.cancel(taskId)),
    send: await refusal(peer, peer.send("shout", ["more"], { taskId })),
    stream: await refusal(peer, everything(peer.stream("shout", ["more"], { taskId }))),
  };
}

async function subscribe_in_vain(peer) {
  const taskId = (await peer.send("shout", ["done"])).task.id;
  return {
    unknown: await refusal(peer, everything(peer.subscribe("no-such-task"))),
    finished: await refusal(peer, everything(peer.subscribe(taskId))),
  };
}

async function bad_params(peer) {
  const waiting = (await peer.send("book", ["Kyiv"])).task;
  const elsewhere = { taskId: waiting.id, contextId: "another" };
  return {
    no_parts: await refusal(peer, peer.send("shout", [])),
    no_parts_in_a_stream: await refusal(peer, everything(peer.stream("shout", []))),
    unknown_skill: await refusal(peer, peer.send("juggle", ["hi"])),
    missing_parameter: await refusal(peer, peer.send("add", [{ data: { a: 1 } }])),
    wrong_parameter: await refusal(peer, peer.send("add", [{ data: { a: 1, b: 2.5 } }])),
    wrong_context: await refusal(peer, peer.send("book", ["hi"], elsewhere)),
  };
}

function unsupported_content_type(peer) {
  const film = { raw: Buffer.from([0]), mediaType: "video/mp4" };
  return refusal(peer, peer.send("mirror", [film]));
}

async function push_config(peer) {
  const hook = `${process.env.HOOK ?? "http://127.0.0.1:9"}/${peer.name.replace(" ", "-")}`;
  const taskId = (await peer.send("shout", ["done"])).task.id;
  const told = {};
  for (const [name, call] of Object.entries(peer.pushCalls(taskId, hook))) {
    told[name] = await refusal(peer, call());
  }
  told.list_after = await refusal(peer, peer.pushCalls(taskId, hook).list());
  const in_send = await refusal(peer, peer.send("shout", ["hi"], { pushUrl: hook }));
  return { ...told, in_send };
}

const SCENARIOS = {
  card,
  send,
  send_to_the_default_skill,
  send_without_waiting,
  direct_message,
  stream,
  rejected,
  failed,
  files,
  data,
  line_separators,
  metadata,
  get,
  cancel,
  subscribe,
  input_required,
  input_required_in_streams,
  unknown_task,
  finished_task,
  subscribe_in_vain,
  bad_params,
  unsupported_content_type,
  push_config,
};

// --- playing -------------------------------------------------------------------------------------

async function play(peer, scenario) {
  const timer = new AbortController();
  const late = sleep(SCENARIO_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no end within ${SCENARIO_MS} ms`);
  });
  try {
    return { saw: await Promise.race([scenario(peer), late]) };
  } catch (error) {
    return { trace: `${error.stack}\n${error.cause?.stack ?? ""}` };
  } finally {
    timer.abort();
    late.catch(() => {});
  }
}

// Plays the scenarios that the command line names, or all, with connect(url, binding).
export async function run(connect) {
  const [url, binding, ...names] = process.argv.slice(2);
  const peer = await connect(url, binding);
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (names.length && !names.includes(name)) continue;
    console.log(JSON.stringify({ scenario: name, ...(await play(peer, scenario)) }));
  }
  // Streams that were left open must not keep the process alive.
  process.exit(0);
}
