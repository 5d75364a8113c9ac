/**
 * Three tasks that a scripted model solves with direct calls and in code mode. The library is passed in, because tests run the sources and
 * the report runs the build.
 */

const CUSTOMERS = Array.from({ length: 200 }, (_, id) => ({
  id,
  name: `Customer ${id}`,
  country: ["NO", "SE", "DE", "FR"][id % 4],
  email: `customer${id}@example.com`,
}));
const INVOICES = Array.from({ length: 400 }, (_, number) => ({
  number,
  customer: (number * 7) % 200,
  state: number % 3 === 0 ? "unpaid" : "paid",
  amount: 100 + number,
}));
/** 2 MB as JSON. */
const ENTRIES = Array.from({ length: 13_000 }, (_, id) => ({
  id,
  service: ["shop", "pay", "mail"][id % 3],
  level: id % 400 === 1 ? "error" : "info",
  at: new Date(1.7e12 + id * 1_000).toISOString(),
  message: `Handled request ${id} of user ${id % 97} with a cold cache`,
}));
const LAST_JOB = 9;

const object = (properties = {}) => ({ type: "object", properties, required: Object.keys(properties) });
const list = (name) => object({ [name]: { type: "array", items: { type: "object" } } });
const structured = (value) => ({
  structuredContent: value,
  content: [{ type: "text", text: JSON.stringify(value) }],
});

const TASK_SERVERS = {
  crm: {
    list_customers: {
      description: "Lists all customers",
      outputSchema: list("customers"),
      handler: () => structured({ customers: CUSTOMERS }),
    },
  },
  billing: {
    list_invoices: {
      description: "Lists invoices of one state: paid or unpaid",
      inputSchema: object({ state: { type: "string" } }),
      outputSchema: list("invoices"),
      handler: ({ state }) => structured({ invoices: INVOICES.filter((invoice) => invoice.state === state) }),
    },
  },
  logs: {
    read_entries: {
      description: "Reads all log entries of today",
      outputSchema: list("entries"),
      handler: () => structured({ entries: ENTRIES }),
    },
  },
  jobs: {
    get_job: {
      description: "Returns a job: its state, and the next job if it was replaced",
      inputSchema: object({ id: { type: "number" } }),
      outputSchema: { type: "object", properties: { state: { type: "string" }, next: { type: "number" } } },
      handler: ({ id }) =>
        structured(id < LAST_JOB ? { state: "replaced", next: id + 1 } : { state: "done" }),
    },
  },
};

const call = (name, args = {}) => [{ name, args }];
const jsonOf = (text) => JSON.parse(text.slice(text.indexOf("{")));

/** Each task: the turns of a model that calls the tools, and the program of a model in code mode. The answers are the same. */
const TASKS = [
  {
    name: "join the data of two servers",
    prompt: "How much do the customers in Norway still have to pay?",
    *direct() {
      const [customers, invoices] = yield [
        { name: "crm__list_customers", args: {} },
        { name: "billing__list_invoices", args: { state: "unpaid" } },
      ];
      const norwegian = new Set(
        jsonOf(customers).customers.flatMap(({ id, country }) => (country === "NO" ? [id] : [])),
      );
      return jsonOf(invoices).invoices.reduce(
        (sum, { customer, amount }) => sum + (norwegian.has(customer) ? amount : 0),
        0,
      );
    },
    query: "list customers, list unpaid invoices",
    code: `const [{ customers }, { invoices }] = await Promise.all([
  tools.crm.listCustomers(),
  tools.billing.listInvoices({ state: "unpaid" }),
]);
const norwegian = new Set(customers.filter((c) => c.country === "NO").map((c) => c.id));
return invoices.filter((i) => norwegian.has(i.customer)).reduce((sum, i) => sum + i.amount, 0);`,
  },
  {
    name: "filter a list of 2 MB",
    prompt: "How many errors did the service pay have today?",
    *direct() {
      const [cut] = yield call("logs__read_entries");
      const id = /"id":"([\w-]+)"/.exec(cut)[1];
      let count = 0;
      for (let from = 0; ; ) {
        const find = '"service":"pay","level":"error"';
        const [page] = yield call("read_artifact", { id, find, from, count: 50, fields: ["id"] });
        count += page.match(/\{"id":\d+\}/g)?.length ?? 0;
        const next = /"from":\s*(\d+)/.exec(page)?.[1];
        if (next === undefined) return count;
        from = Number(next);
      }
    },
    query: "read log entries",
    code: `const { entries } = await tools.logs.readEntries();
return entries.filter((e) => e.service === "pay" && e.level === "error").length;`,
  },
  {
    name: "loop with a condition",
    prompt: "Job 0 was replaced, perhaps several times. Which job is done?",
    *direct() {
      for (let id = 0; ; ) {
        const [text] = yield call("jobs__get_job", { id });
        const { state, next } = jsonOf(text);
        if (state === "done") return id;
        id = next;
      }
    },
    query: "get job state",
    code: `let id = 0;
for (;;) {
  const { state, next } = await tools.jobs.getJob({ id });
  if (state === "done") return id;
  id = next;
}`,
  },
];

function* inCode({ query, code }) {
  yield call("search", { query });
  const [result] = yield call("execute", { code });
  return jsonOf(result).value;
}

/** Runs a script as a model that gets every earlier message again. Returns its answer, the requests, and their tokens together. */
async function converse(source, script, { toOpenAITools, runOpenAIToolCalls, count, prompt }) {
  const tools = await toOpenAITools(source);
  const messages = [{ role: "user", content: prompt }];
  let [tokens, requests] = [0, 0];
  for (let step = script.next(); ; ) {
    requests += 1;
    tokens += await count(JSON.stringify({ messages, tools }));
    if (step.done) return { answer: step.value, tokens, requests };
    const tool_calls = step.value.map(({ name, args }, index) => ({
      id: `call_${requests}_${index}`,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    }));
    const message = { role: "assistant", content: null, tool_calls };
    const answers = await runOpenAIToolCalls(source, message, { tools });
    messages.push(message, ...answers);
    step = script.next(answers.map(({ content }) => content));
  }
}

/** One row for each task. @param more servers beside those of the tasks, which only have definitions */
export async function runTasks(library, more = {}) {
  const { createToolport, createTestServer, createCodeMode } = library;
  const servers = Object.entries({ ...TASK_SERVERS, ...more }).map(([name, tools]) => [
    name,
    createTestServer({ tools }),
  ]);
  const toolport = createToolport({
    mcpServers: Object.fromEntries(servers.map(([name, server]) => [name, server.memory()])),
  });
  const code = createCodeMode(toolport);
  const rows = [];
  try {
    for (const task of TASKS) {
      const options = { ...library, prompt: task.prompt };
      const direct = await converse(toolport, task.direct(), options);
      const program = await converse(code, inCode(task), options);
      rows.push({ name: task.name, direct, program });
    }
    return { rows, tools: (await toolport.tools()).length };
  } finally {
    await code.close();
    await toolport.close();
    await Promise.all(servers.map(([, server]) => server.close()));
  }
}
