/**
 * A process that runs a program, or continues one: `node program-host.mjs <job as JSON>`.
 *
 * Prints `line <text>` for every line of the program's console, then `waits <token>` or `ends <outcome as JSON>`.
 */
import { createToolport, isSuspended } from "toolport";
import { createCodeMode } from "toolport/code";
import { openHostStore } from "../suspend/fault-host-stores.mjs";

const { store: place, url, source, token } = JSON.parse(process.argv[2]);
const say = (line) => process.stdout.write(`${line}\n`);
const store = await openHostStore(place);
// Every second call waits for a person.
const approve = ({ args }) => (args.n % 2 === 1 ? "suspend" : true);
const toolport = createToolport({ mcpServers: { box: { url } }, store, approve });
const code = createCodeMode(toolport);
const options = { onProgress: ({ message }) => say(`line ${message}`) };
const outcome =
  token === undefined
    ? await code.execute(source, { ...options, suspend: true })
    : await code.resume(token, { approve: true }, options);
say(isSuspended(outcome) ? `waits ${outcome.token}` : `ends ${JSON.stringify(outcome)}`);
// The test kills the process.
setInterval(() => {}, 60_000);
