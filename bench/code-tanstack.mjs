/**
 * One measurement of `@tanstack/ai-isolate-quickjs`, in a process of its own: it may hold its thread or end the process.
 * Arguments: the module's address, the kind of measurement. Prints one JSON line.
 */
const [address, kind] = process.argv.slice(2);
const { createQuickJSIsolateDriver } = await import(address);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const inputSchema = { type: "object" };
const bindings = {
  add: { name: "add", description: "", inputSchema, execute: async ({ a }) => String(a + 1) },
  wait: { name: "wait", description: "", inputSchema, execute: () => sleep(100).then(() => "done") },
};
const driver = createQuickJSIsolateDriver({ timeout: 500 });

async function run(code) {
  const began = performance.now();
  const context = await driver.createContext({ bindings });
  const { success, error } = await context.execute(code);
  await context.dispose();
  return { ms: performance.now() - began, success, error: error?.message };
}

const kinds = {
  async start() {
    await run("return 1");
    const all = [];
    for (let count = 0; count < 20; count += 1) all.push((await run("return 1")).ms);
    return { ms: all.sort((a, b) => a - b)[10] };
  },
  async calls() {
    return run("let a = 0; for (let n = 0; n < 20; n++) a = Number(await add({ a })); return a");
  },
  async parallel() {
    return run("return (await Promise.all(Array.from({ length: 8 }, () => wait({})))).length");
  },
  async hostile() {
    return run('const half = "a".repeat(150000); return (half + half).indexOf(half + "b")');
  },
};
process.stdout.write(`${JSON.stringify(await kinds[kind]())}\n`);
