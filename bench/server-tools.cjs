/** Tools of the benchmark's server: four that can be called, and any number with the size and nesting of real ones. */

const string = (description) => ({ type: "string", description });
const choice = (...values) => ({ type: "string", enum: values });
const object = (properties, required) => ({
  type: "object",
  properties,
  ...(required === undefined ? {} : { required }),
});

const ECHO_OUTPUT = object(
  { text: string("Echoed text"), n: { type: "integer" }, tags: { type: "array", items: { type: "string" } } },
  ["text", "n", "tags"],
);

const BUILT_IN = [
  {
    name: "echo",
    description: "Returns its text.",
    inputSchema: object({ text: string("What to return") }, ["text"]),
  },
  {
    name: "echo_structured",
    description: "Returns its text as structured content.",
    inputSchema: object({ text: string("What to return"), n: { type: "integer" } }, ["text", "n"]),
    outputSchema: ECHO_OUTPUT,
  },
  {
    name: "blob",
    description: "Returns kb kilobytes.",
    inputSchema: object({ kb: { type: "number" }, kind: choice("text", "image") }, ["kb", "kind"]),
  },
  { name: "pid", description: "The process id of the server.", inputSchema: object({}) },
];

/** About 1.5 KB: enums, nested objects, arrays, `$ref`, `anyOf`. */
const inputSchema = {
  type: "object",
  properties: {
    query: { type: "string", minLength: 1, maxLength: 500, description: "Full text query" },
    limit: { type: "integer", minimum: 1, maximum: 100, default: 20, description: "How many to return" },
    sort: { ...choice("relevance", "created", "updated"), description: "Sort order" },
    filter: object({
      author: string("Login of the author"),
      labels: { type: "array", items: { type: "string" }, description: "All of these labels" },
      created: { $ref: "#/$defs/range" },
      state: choice("open", "closed", "all"),
    }),
    fields: {
      type: "array",
      maxItems: 10,
      items: object(
        { name: string("Field name"), as: string("Alias"), format: choice("raw", "html", "text") },
        ["name"],
      ),
    },
    target: {
      anyOf: [
        { type: "string", description: "An id" },
        object({ owner: string("Owner"), repo: string("Repository") }, ["owner", "repo"]),
      ],
    },
  },
  required: ["query"],
  additionalProperties: false,
  $defs: { range: object({ from: string("ISO date"), to: string("ISO date") }) },
};

/** Different for every tool, so that no client can reuse one compiled schema. */
function outputSchema(i) {
  const author = object({ login: string("Login"), url: string("Url") }, ["login"]);
  const record = object(
    {
      id: string("Id"),
      title: string("Title"),
      score: { type: "number" },
      [`field_${i}`]: string("Own"),
      author,
    },
    ["id", "title"],
  );
  return object({ total: { type: "integer" }, records: { type: "array", items: record } }, [
    "total",
    "records",
  ]);
}

function filler(i, outputEvery) {
  return {
    name: `tool_${i}`,
    title: `Tool number ${i}`,
    description:
      `Searches collection ${i} and returns the matching records. Use it when the user asks about collection ${i}; ` +
      "results are sorted by relevance and paginated.",
    inputSchema,
    annotations: { readOnlyHint: true, openWorldHint: true },
    ...(outputEvery > 0 && i % outputEvery === 0 ? { outputSchema: outputSchema(i) } : {}),
  };
}

/** Results of `tools/list` as JSON, created on first use. A page size of 0 means one page. */
function listPages({ tools, pageSize, outputEvery, fields }) {
  let pages;
  const make = () => {
    const all = [...BUILT_IN];
    for (let i = all.length; i < tools; i++) all.push(filler(i, outputEvery));
    const size = pageSize || all.length;
    return Array.from({ length: Math.ceil(all.length / size) }, (_, page, start = page * size) => {
      const more = start + size < all.length ? { nextCursor: String(page + 1) } : {};
      return JSON.stringify({ ...fields, tools: all.slice(start, start + size), ...more });
    });
  };
  return () => {
    pages ??= make();
    return pages;
  };
}

module.exports = { listPages };
