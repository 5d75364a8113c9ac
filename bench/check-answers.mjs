/** Checks correctness: a contender with a wrong list or result is not timed. */

export function expectEqual(what, got, wanted) {
  if (got === wanted) return;
  throw new Error(`wrong ${what}: got ${String(got).slice(0, 60)}, not ${String(wanted).slice(0, 60)}`);
}

const KB = 64;

/** Throws at the first wrong result; returns which parts of a result a contender keeps. */
export async function checkAnswers(contender, connection, { servers, tools = 10 }) {
  await connection.settle?.();
  for (const { name } of servers) expectEqual(`number of tools of ${name}`, connection.count(name), tools);
  const ask = async (tool, args) => contender.read(await connection.call("s0", tool, args));
  // Quotes, a two-byte character, and a line separator that JSON does not escape.
  const text = `héllo "${Math.random()}" \u2028 line`;
  expectEqual("echo", (await ask("echo", { text })).text, text);
  const answer = await ask("echo_structured", { text, n: 7 });
  const data = answer.structured ?? JSON.parse(answer.text);
  expectEqual("text of structured content", data.text, text);
  expectEqual("number of structured content", data.n, 7);
  const blob = await ask("blob", { kb: KB, kind: "text" });
  expectEqual("length of a large text", blob.text.length, KB * 1024);
  const { image } = await ask("blob", { kb: KB, kind: "image" });
  return { keepsStructured: answer.structured !== undefined, keepsImages: image?.length === KB * 1024 };
}
