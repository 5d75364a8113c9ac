/**
 * A process that runs a program with the key `program`, or continues it if it waits: `node program-host.mjs <job as JSON>`.
 *
 * Approves on its own the calls before the number `waitAt`, if there is one. Prints `stopped` and does nothing more when the program prints the line `stopAt`, or when a call with the number `stopBefore` is about to
 * be sent. Otherwise it prints `waits <number of the call>`, `ends <outcome as JSON>` or `throws <code>`.
 */
import { writeSync } from "node:fs";
import { createToolport, isSuspended } from "toolport";
import { createCodeMode } from "toolport/code";
import { openHostStore } from "../../../test/suspend/fault-host-stores.mjs";

const { store: place, url, source, stopAt, stopBefore, decision, waitAt = 0 } = JSON.parse(process.argv[2]);
const say = (line) => writeSync(1, `${line}\n`);
/** Blocks the thread that makes calls and writes to the store, until the test kills the process. */
const stop = () => {
  say("stopped");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
const store = await openHostStore(place);
const toolport = createToolport({
  mcpServers: { box: { url } },
  store,
  // Every call waits for a person.
  approve: () => "suspend",
  interceptors: [
    (next) => (call) => {
      if (call.args.n === stopBefore) stop();
      return next(call);
    },
  ],
});
const code = createCodeMode(toolport);
const onProgress = ({ message }) => {
  if (message === stopAt) stop();
};
let outcome = await code.execute(source, { onProgress, suspend: { key: "program" } });
let error;
const resume = async (answer) => {
  outcome = await code.resume(outcome.token, answer, { onProgress }).catch((thrown) => {
    error = thrown;
  });
};
if (decision !== undefined && isSuspended(outcome)) await resume(decision);
while (error === undefined && isSuspended(outcome) && outcome.args.n < waitAt)
  await resume({ approve: true });
if (error !== undefined) say(`throws ${error.code}`);
else say(isSuspended(outcome) ? `waits ${outcome.args.n}` : `ends ${JSON.stringify(outcome)}`);
// The test kills the process.
setInterval(() => {}, 60_000);
