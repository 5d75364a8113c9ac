import { expect, test } from "vitest";
import { argumentCandidates } from "./completion.js";

const offered = (properties: object, given: readonly string[] = []) =>
  argumentCandidates({ properties }, given).map(({ value }) => value);

test("offers the values of an argument, and leaves out arguments that are given", () => {
  const properties = { unit: { enum: ["metric", "imperial"] }, isDry: { type: "boolean" }, city: {} };
  expect(offered(properties, ["city=Oslo"])).toEqual([
    "unit=metric",
    "unit=imperial",
    "isDry=true",
    "isDry=false",
  ]);
});

test("offers no value if a shell would interpret one of them", () => {
  expect(offered({ city: { enum: ["New York", "Chicago"] } })).toEqual(["city="]);
});
