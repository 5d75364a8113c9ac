/** Prints the CPU time of a plain call over HTTP with one build: `node suspend-worker.mjs <index.js of the build> <url>`. */
import { median, startMeter } from "./process-figures.mjs";

const [entryPoint, url] = process.argv.slice(2);
const { createToolport } = await import(entryPoint);
const WARM_UP = 1_500;
const SLICES = 5;
const SLICE = 400;

const toolport = createToolport({ mcpServers: { travel: { url } } });
const call = () => toolport.callTool("travel__note", { id: "plain" });
for (let count = 0; count < WARM_UP; count += 1) await call();
const slices = [];
for (let slice = 0; slice < SLICES; slice += 1) {
  const read = startMeter();
  for (let count = 0; count < SLICE; count += 1) await call();
  slices.push((read().cpuMs * 1_000) / SLICE);
}
console.log(JSON.stringify({ cpuUs: median(slices) }));
await toolport.close();
