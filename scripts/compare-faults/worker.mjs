/** One contender, one fault, one fresh process: `node --expose-gc worker.mjs <contender> <fault> <pid file> <cap>`. */
import { FAULTS } from "./faults.mjs";
import { createStage, describe } from "./stage.mjs";

const [, , file, id, pidFile, cap] = process.argv;
let unhandled = 0;

function finish(result) {
  const line = JSON.stringify({ ...result, unhandled });
  // Exit even if a contender left something open.
  process.stdout.write(`\nRESULT ${line}\n`, () => process.exit(0));
}

process.on("unhandledRejection", () => {
  unhandled += 1;
});
process.on("uncaughtException", (error) =>
  finish({ survived: false, fact: `uncaught exception: ${describe(error)}` }),
);

try {
  const module = await import(`./contenders/${file}.mjs`);
  const stage = createStage({
    contender: { file, ...module },
    lib: await module.load(),
    pidFile,
    capMs: Number(cap),
  });
  finish(await FAULTS.find((fault) => fault.id === id).run(stage));
} catch (error) {
  finish({
    error: String(error?.message ?? error)
      .replace(/\s+/g, " ")
      .slice(0, 200),
  });
}
