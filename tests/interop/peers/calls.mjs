// What calls.py is for Python: what a framework's own client is made to do with an agent.
// A caller has say(text), which gives {answer, pieces}.

const SCENARIOS = {
  plain: (caller) => caller().say("shout hello"),
  streamed: (caller) => caller().say("spell to be or not"),
  async asked(caller) {
    const conversation = caller();
    const question = await conversation.say("book Rome");
    return { question: question.answer, ...(await conversation.say("Monday")) };
  },
};

async function play(caller, scenario) {
  try {
    return { saw: await scenario(caller) };
  } catch (error) {
    return { trace: `${error.stack ?? error} ${error.cause ?? ""}` };
  }
}

export async function run(connect) {
  const [url, , ...names] = process.argv.slice(2);
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (names.length && !names.includes(name)) continue;
    const told = { scenario: name, ...(await play(connect(url), scenario)) };
    console.log(JSON.stringify(told));
  }
  process.exit(0);
}
