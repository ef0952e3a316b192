// Signs, recovers and sends what it is told to, by @xpr-agents/sdk; tasks on stdin, answers on stdout.

import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

// The packages are those of the folder it is run in.
const sdk = createRequire(`${process.cwd()}/`)("@xpr-agents/sdk");

function signed({ key, account, timestamp, body }) {
  return sdk.signA2ARequest(key, account, timestamp, sdk.hashBody(body));
}

const tasks = {
  sign: async (task) => signed(task),
  recover: async ({ signature, account, timestamp, body }) =>
    sdk.recoverA2APublicKey(signature, account, timestamp, sdk.hashBody(body)),
  send: async ({ url, headers, ...task }) => {
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        ...headers,
        "X-XPR-Account": task.account,
        "X-XPR-Timestamp": String(task.timestamp),
        "X-XPR-Signature": signed(task),
      },
      body: task.body,
    });
    return { status: answer.status, body: await answer.json() };
  },
};

// The network's own client, one call each.
tasks.client = async ({ url, account, key, call, args }) => {
  const client = new sdk.A2AClient(url, { callerAccount: account, signingKey: key });
  try {
    return { result: await client[call](...args) };
  } catch (problem) {
    return { error: { code: problem.code, message: problem.message } };
  }
};

const answers = [];
for (const { task, ...given } of JSON.parse(await text(process.stdin))) {
  answers.push(await tasks[task](given));
}
process.stdout.write(JSON.stringify(answers));
