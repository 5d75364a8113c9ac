import { describe, expect, test } from "vitest";
import { completeForm, type FormSchema } from "./elicitation.js";

const schema = (properties: Record<string, unknown>, required: string[] = []): FormSchema =>
  ({ type: "object", properties, required }) as FormSchema;

const check = (field: unknown, value: unknown) => completeForm(schema({ field }), { field: value });

const fits = (field: unknown, value: unknown) =>
  expect(check(field, value), JSON.stringify(value)).toEqual({ content: { field: value } });

const fails = (field: unknown, value: unknown, message: string) =>
  expect(check(field, value), JSON.stringify(value)).toEqual({ issues: [{ path: "field", message }] });

describe("fields", () => {
  test("strings: type, length in code points, format", () => {
    fits({ type: "string", minLength: 1, maxLength: 2 }, "👩🏽");
    fails({ type: "string" }, 1, "must be a string");
    fails({ type: "string", minLength: 3 }, "ab", "is shorter than 3");
    fails({ type: "string", maxLength: 1 }, "ab", "is longer than 1");
    fits({ type: "string", format: "email" }, "ada@example.com");
    for (const bad of ["ada", "a b@c", "a@b@c"])
      fails({ type: "string", format: "email" }, bad, "is not an e-mail address");
    fits({ type: "string", format: "uri" }, "urn:isbn:1");
    fails({ type: "string", format: "uri" }, "nothing", "is not a URI");
    fits({ type: "string", format: "date" }, "2028-02-29");
    for (const bad of ["2027-02-29", "2027-2-1", "today"])
      fails({ type: "string", format: "date" }, bad, "is not a date");
    fits({ type: "string", format: "date-time" }, "2027-01-31T10:00:00.5+02:00");
    fails({ type: "string", format: "date-time" }, "2027-01-31 10:00", "is not a date with a time");
    fits({ type: "string", format: "unheard-of" }, "x");
  });

  test("numbers and booleans", () => {
    fits({ type: "number", minimum: 0, maximum: 1 }, 0.5);
    fails({ type: "number", minimum: 0 }, -1, "is less than 0");
    fails({ type: "number", maximum: 1 }, 2, "is more than 1");
    fails({ type: "number" }, Number.NaN, "must be a number");
    fails({ type: "number" }, "1", "must be a number");
    fits({ type: "integer" }, 7);
    fails({ type: "integer" }, 7.5, "must be a whole number");
    fits({ type: "boolean" }, false);
    fails({ type: "boolean" }, "true", "must be true or false");
  });

  test("single and multiple choice, plain and titled", () => {
    fits({ type: "string", enum: ["a", "b"] }, "a");
    fails({ type: "string", enum: ["a", "b"] }, "c", "is not one of the choices");
    fits({ type: "string", oneOf: [{ const: "a", title: "A" }] }, "a");
    fails({ type: "string", oneOf: [{ const: "a", title: "A" }] }, "A", "is not one of the choices");
    const many = { type: "array", minItems: 1, maxItems: 2, items: { type: "string", enum: ["a", "b"] } };
    fits(many, ["a", "b"]);
    fails(many, [], "has fewer than 1 choices");
    fails(many, ["a", "b", "a"], "has more than 2 choices");
    fails(many, ["c"], "is not among the choices");
    fails(many, "a", "must be a list of strings");
    fits({ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } }, ["a"]);
  });
});

describe("forms", () => {
  test("all problems are reported together", () => {
    const form = schema({ name: { type: "string" }, age: { type: "integer" } }, ["name"]);
    expect(completeForm(form, { age: "old", secret: "x" })).toEqual({
      issues: [
        { path: "name", message: "is required" },
        { path: "age", message: "must be a whole number" },
        { path: "secret", message: "was not asked for" },
      ],
    });
  });

  test("defaults replace missing values only", () => {
    const form = schema({
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive"], default: "active" },
      verified: { type: "boolean", default: true },
      tags: { type: "array", items: { type: "string", enum: ["a", "b"] }, default: ["a"] },
      note: { type: "string" },
    });
    const defaults = {
      name: "John Doe",
      age: 30,
      score: 95.5,
      status: "active",
      verified: true,
      tags: ["a"],
    };
    expect(completeForm(form, {})).toEqual({ content: defaults });
    expect(completeForm(form, { name: undefined, age: 0, verified: false })).toEqual({
      content: { ...defaults, age: 0, verified: false },
    });
  });

  test("a default that violates its own rules is ignored", () => {
    const form = schema({ age: { type: "integer", default: "thirty" } });
    expect(completeForm(form, {})).toEqual({ content: {} });
  });

  test("names of Object.prototype are ordinary field names", () => {
    const form = schema(JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}'), [
      "constructor",
    ]);
    expect(completeForm(form, {})).toEqual({ issues: [{ path: "constructor", message: "is required" }] });
    const done = completeForm(form, JSON.parse('{"__proto__":"p","constructor":"c"}'));
    expect(Object.entries("content" in done ? done.content : {})).toEqual([
      ["__proto__", "p"],
      ["constructor", "c"],
    ]);
    expect(Object.getPrototypeOf("content" in done ? done.content : {})).toBe(Object.prototype);
  });
});
