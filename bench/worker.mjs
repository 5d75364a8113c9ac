/** One contender, one measurement, one fresh process: `node --expose-gc worker.mjs <contender> <metric> <json>`. */
import { metrics } from "./metrics.mjs";
import { waitedForCore } from "./process-figures.mjs";

const [, , name, metric, json = "{}"] = process.argv;
let listenerWarnings = 0;

function finish(result) {
  const line = JSON.stringify({ ...result, waited: waitedForCore(), listenerWarnings });
  // Some contenders keep the process alive; their servers end with it.
  process.stdout.write(`\nRESULT ${line}\n`, () => process.exit(0));
}

const fail = (error) =>
  finish({
    error: String(error?.message ?? error)
      .replace(/\s+/g, " ")
      .slice(0, 160),
  });

// An unhandled rejection of a contender after its server was killed must not end the measurement.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", fail);
process.on("warning", (warning) => {
  if (warning.name === "MaxListenersExceededWarning") listenerWarnings += 1;
});

try {
  const contender = await import(`./contenders/${name}.mjs`);
  finish(await metrics[metric](contender, JSON.parse(json)));
} catch (error) {
  fail(error);
}
