// The play of play.py for the JavaScript SDKs, and where it is given; see stage.py for that.
//
// A server (serve_js_0_3.mjs, serve_js_1_3.mjs) is run in the folder where its SDK is installed. It
// says how its SDK does what a turn does:
//
//     words, parts, isAnswer     the message
//     task(), message(text)      publish the task, or an answer without one
//     status(state, text)        publish where the task stands: WORKING, INPUT_REQUIRED, ...
//     artifact(parts, append, lastChunk)
//     text(text), file(content, mediaType, filename), data(value)     make parts

import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);

// Loads a module of the SDK. Its files of CommonJS have error classes of their own each, and do not
// know each other's; those of ECMAScript, which lie beside them, share theirs.
export const load = (name) => import(require.resolve(name).replace(/\.cjs$/, ".js"));

export const express = require("express");
export const grpc = require("@grpc/grpc-js");

export const NAME = "Peer";
export const VERSION = "4.5.6";
export const SKILL = {
  id: "play",
  name: "Play",
  description: "Does what it hears.",
  tags: ["play"],
};
const PICTURE = [Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), "image/png", "grün.png"];
const DATA = { city: "Zürich", seats: 3, deep: { list: [1, 2.5, "three", true, null] } };

// Gates are opened by another message, so that a task works for as long as the caller wants it to.
const gates = new Map();
// What is done for tasks that work: a task that was canceled publishes no more.
const working = new Map();

function gate(name) {
  if (!gates.has(name)) gates.set(name, Promise.withResolvers());
  return gates.get(name);
}

// Plays one turn; what is canceled meanwhile ends without a word.
export async function perform(taskId, turn) {
  const canceled = Promise.withResolvers();
  working.set(taskId, canceled);
  await Promise.race([play(turn, canceled.promise), canceled.promise]);
  working.delete(taskId);
}

export function stop(taskId) {
  working.get(taskId)?.resolve("canceled");
}

async function play(turn, canceled) {
  const [word, ...others] = turn.words.split(" ");
  const rest = others.join(" ");
  if (turn.isAnswer) {
    turn.task();
    turn.status("WORKING", "Booking.");
    turn.artifact([turn.text(`To ${turn.words}.`)], false, true);
    return turn.status("COMPLETED");
  }
  if (word === "greet") return turn.message(`Hello, ${rest}!`);
  turn.task();
  switch (word) {
    case "echo":
      turn.artifact(turn.parts, false, true);
      break;
    case "draw":
      turn.artifact([turn.file(...PICTURE), turn.data(DATA)], false, true);
      break;
    case "spell":
      turn.status("WORKING", "Spelling.");
      others.forEach((each, index) =>
        turn.artifact([turn.text(`${each} `)], index > 0, index === others.length - 1),
      );
      break;
    case "hold":
      turn.artifact([turn.text("before ")], false, false);
      turn.status("WORKING", "Holding.");
      if ((await Promise.race([gate(rest).promise, canceled])) === "canceled") return;
      turn.artifact([turn.text("after")], true, true);
      break;
    case "open":
      gate(rest).resolve("open");
      break;
    case "ask":
      return turn.status("INPUT_REQUIRED", "Which city?");
    default:
      return turn.status("FAILED", "No luck.");
  }
  turn.status("COMPLETED");
}

// Takes ports for HTTP and gRPC.
export async function listen() {
  const grpcServer = new grpc.Server();
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const grpcPort = await new Promise((resolve, reject) =>
    grpcServer.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    ),
  );
  const url = `http://127.0.0.1:${server.address().port}`;
  return { server, grpcServer, url, grpcAddress: `127.0.0.1:${grpcPort}` };
}

// Serves the app of Express until standard input ends.
export function serve(server, url, app) {
  server.on("request", app);
  process.stdin.on("end", () => process.exit()).resume();
  process.stdout.write(`${JSON.stringify({ url })}\n`);
}
