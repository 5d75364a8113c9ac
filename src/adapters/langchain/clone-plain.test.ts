import { expect, test } from "vitest";
import { clonePlain } from "./clone-plain.js";

const schema = JSON.parse(
  '{"type":"object","properties":{"__proto__":{"type":"string"},"b":{"enum":[null,1,{"c":[]}]}},"required":["b"]}',
);

test("a copy equals the original and shares no objects with it", () => {
  const frozen = JSON.parse(JSON.stringify(schema), (_key, value) => Object.freeze(value));
  const copy = clonePlain(frozen);
  expect(JSON.stringify(copy)).toBe(JSON.stringify(schema));
  expect(Object.keys(copy.properties)).toEqual(["__proto__", "b"]);
  expect(Object.getPrototypeOf(copy.properties)).toBe(Object.prototype);
  copy.properties.b.enum[2].c.push(1);
  for (const property of Object.values(copy.properties)) Object.assign(property as object, { type: "x" });
  expect(JSON.stringify(frozen)).toBe(JSON.stringify(schema));
});

test("other values stay unchanged, or are passed to the given function", () => {
  const odd = { when: new Date(0), run: () => 1 };
  expect(clonePlain(odd)).toEqual(odd);
  expect(clonePlain(odd).when).toBe(odd.when);
  expect(clonePlain([odd.when], structuredClone)[0]).not.toBe(odd.when);
  expect(() => clonePlain(odd, structuredClone)).toThrow();
});
