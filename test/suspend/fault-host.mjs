/**
 * A client in a process of its own: `node fault-host.mjs <job as JSON>`. Prints how the job ended as one line of JSON.
 *
 * `stopAt` names a moment at which it prints `"stopped"` and goes no further, so that the test can kill it there: `marked`, the
 * mark is saved and nothing was sent; `ending`, the answer has arrived and is not saved yet.
 */
import { createToolport, isSuspended } from "toolport";
import { openHostStore } from "./fault-host-stores.mjs";

const { store: place, servers, job, stopAt, waits = false, options = {} } = JSON.parse(process.argv[2]);
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const stop = () => {
  say("stopped");
  setInterval(() => {}, 1_000);
  return new Promise(() => {});
};

const inner = await openHostStore(place);
let isMarked = false;
const store = {
  ...inner,
  async put(key, value, settings) {
    const isMark = key.startsWith("suspended/") && value?.state === "sending";
    if (stopAt === "ending" && isMarked && !isMark && key.startsWith("suspended/")) return stop();
    const version = await inner.put(key, value, settings);
    if (isMark) isMarked = true;
    return isMark && stopAt === "marked" ? stop() : version;
  },
  delete(key, settings) {
    return stopAt === "ending" && isMarked && key.startsWith("suspended/")
      ? stop()
      : inner.delete(key, settings);
  },
};

const toolport = createToolport({ mcpServers: servers, store, ...options });
if (waits) {
  await toolport.connect();
  say("ready");
  await new Promise((resolve) => process.stdin.once("data", resolve));
}
const [method, ...args] = job;
try {
  const out = await toolport[method](...args);
  say(isSuspended(out) || typeof out?.text !== "string" ? out : { text: out.text });
} catch (error) {
  say({ code: error.code, outcome: error.outcome, message: error.message });
}
await toolport.close();
await inner.close();
process.stdin.unref?.();
