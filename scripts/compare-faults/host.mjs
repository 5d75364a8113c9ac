/** A host that connects and waits to be killed: `node host.mjs <contender> <servers as JSON>`. */
const [, , file, json] = process.argv;
const contender = await import(`./contenders/${file}.mjs`);
await contender.open(await contender.load(), JSON.parse(json));
process.stdout.write("ready\n");
setInterval(() => {}, 1_000);
