/** Tool schemas as servers really list them, by the library that writes them, and a server with one tool for each. */
import { readdirSync, readFileSync } from "node:fs";
import type { ServerEntry } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";

export interface FieldSchema {
  /** Name of the tool, unique in the corpus. */
  readonly name: string;
  /** What is special about the schema. */
  readonly note: string;
  readonly family: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** Arguments that the server accepts. */
  readonly arguments: Record<string, unknown>;
  /** Arguments that a keyword refuses which can be checked. */
  readonly refused?: readonly Record<string, unknown>[];
  /** The keywords that cannot be checked. */
  readonly unchecked?: readonly string[];
}

interface Family {
  readonly family: string;
  readonly entries: readonly Omit<FieldSchema, "family">[];
}

const folder = new URL("../fixtures/field-schemas/", import.meta.url);

export const FIELD_SCHEMAS: readonly FieldSchema[] = readdirSync(folder).flatMap((file) => {
  const { family, entries } = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Family;
  return entries.map((entry) => ({ family, ...entry }));
});

/** Whether the schema uses `nullable` of OpenAPI 3.0, which JSON Schema does not know. */
export const isNullable = ({ schema }: FieldSchema): boolean =>
  JSON.stringify(schema).includes('"nullable":true');

/** Lists the schemas as they are in the corpus, and accepts every call. */
export const createFieldServer = (fields: readonly FieldSchema[] = FIELD_SCHEMAS): TestServer =>
  createTestServer({
    tools: Object.fromEntries(
      fields.map(({ name, note, schema }) => [
        name,
        { description: note, inputSchema: schema, handler: () => `called ${name}` },
      ]),
    ),
  });

/** An entry for the server, called `field`. */
export const fieldServers = (server: TestServer): Record<"field", ServerEntry> => ({
  field: server.memory(),
});
