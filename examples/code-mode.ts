/**
 * Code mode: the model writes one program in place of many calls, and reads only what the program returns.
 *
 * The model searches for functions, then joins the data of two servers. 600 rows never reach it.
 * The model is a local scripted endpoint. Remove `baseURL` and set a key to use a real one.
 * Run it on Node 24 or later: npm run build && node examples/code-mode.ts
 */
import { fileURLToPath } from "node:url";
import { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { createToolport } from "toolport";
import { createCodeMode } from "toolport/code";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { createTestServer } from "toolport/testing";

const customers = Array.from({ length: 200 }, (_, id) => ({ id, country: ["NO", "SE", "DE", "FR"][id % 4] }));
const invoices = Array.from({ length: 400 }, (_, id) => ({ customer: id % 200, amount: id }));
const rows = (name: string) => ({
  type: "object" as const,
  properties: { [name]: { type: "array", items: { type: "object" } } },
  required: [name],
});

const PROGRAM = `
const [{ customers }, { invoices }] = await Promise.all([tools.crm.listCustomers(), tools.billing.listInvoices()]);
const norwegian = new Set(customers.filter((c) => c.country === "NO").map((c) => c.id));
return invoices.filter((i) => norwegian.has(i.customer)).reduce((sum, i) => sum + i.amount, 0);`;

const crm = createTestServer({
  tools: {
    list_customers: {
      description: "Lists all customers",
      outputSchema: rows("customers"),
      handler: () => ({ structuredContent: { customers }, content: [] }),
    },
  },
});
const billing = createTestServer({
  tools: {
    list_invoices: {
      description: "Lists all invoices",
      outputSchema: rows("invoices"),
      handler: () => ({ structuredContent: { invoices }, content: [] }),
    },
  },
});

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const model = new LLMock({ port: 0 });
  let turn = 0;
  model.on({ predicate: () => true }, ({ messages }) => {
    turn += 1;
    if (turn === 1) return call("search", { query: "customers, invoices" });
    if (turn === 2) return call("execute", { code: PROGRAM });
    const { value } = JSON.parse(String(messages.at(-1)?.content)) as { value: number };
    return { content: `Norway: ${value}` };
  });
  await model.start();

  await using toolport = createToolport({ mcpServers: { crm: crm.memory(), billing: billing.memory() } });
  await using code = createCodeMode(toolport);
  const openai = new OpenAI({ apiKey: "none", baseURL: `${model.url}/v1` });

  const tools = await toOpenAITools(code);
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: "user", content: "How much is invoiced to customers in Norway?" },
  ];
  for (;;) {
    const completion = await openai.chat.completions.create({ model: "gpt-5", messages, tools });
    const message = completion.choices[0]!.message;
    messages.push(message);
    const answers = await runOpenAIToolCalls(code, message, { tools });
    if (answers.length === 0) break;
    for (const { content } of answers) print(`result:\n${content}`);
    messages.push(...answers);
  }
  print(`model: ${messages.at(-1)!.content}`);
  await model.stop();
  await Promise.all([crm.close(), billing.close()]);
}

const call = (name: string, args: object) => ({ toolCalls: [{ name, arguments: JSON.stringify(args) }] });

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
