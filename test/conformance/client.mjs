/**
 * The client under test for `npm run conformance`: Toolport through its public entry point only.
 *
 * The runner gives the server's URL as the last argument, the scenario and its data in the environment. This process
 * never calls `process.exit`: if `close()` left anything open, the run would time out, and that is a failure.
 */
import { createToolport } from "toolport";
import { CALLBACK_URL, connectWithLogins, oauthOptions, withLogins } from "./log-in.mjs";

const SERVER = "test";
const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

/** The actions of each scenario after the connect; the default calls every listed tool. */
const plays = {
  initialize: (toolport) => toolport.tools(),
  "request-metadata": (toolport) => toolport.tools(),
  "json-schema-ref-no-deref": (toolport) => toolport.tools(),
  tools_call: async (toolport) => call(toolport, "add_numbers", { a: 2, b: 3 }),
  "json-schema-2020-12-preservation": async (toolport) => {
    const schema = (await findTool(toolport, "json_schema_2020_12_tool")).inputSchema;
    await call(toolport, "json_schema_echo", { schema });
  },
  "elicitation-sep1034-client-defaults": (toolport) => call(toolport, "test_client_elicitation_defaults", {}),
  "sep-2322-client-request-state": async (toolport) => {
    // In parallel: the rounds of one call must not affect another.
    await Promise.all((await toolport.tools()).map(({ sourceName }) => call(toolport, sourceName, {})));
  },
  "sep-2640-client-no-prefetch": (toolport) => toolport.skills(SERVER).list(),
  "sep-2640-client-verify-digest": (toolport) => loadSkill(toolport, "digest"),
  "sep-2640-client-verify-size": (toolport) => loadSkill(toolport, "size"),
  "sep-2640-client-verify-frontmatter": (toolport) => loadSkill(toolport, "frontmatter"),
  "http-standard-headers": async (toolport) => {
    await callEveryTool(toolport);
    await readEverything(toolport);
  },
};

/** A user who accepts everything and types nothing, for scenarios that need one. */
const agree = () => ({ action: "accept", content: {} });
const options = {
  "elicitation-sep1034-client-defaults": { onElicitation: agree },
  "sep-2322-client-request-state": { onElicitation: agree },
};

const isAuth = scenario.startsWith("auth/");
const ownProviderMode = process.env.TOOLPORT_CONFORMANCE_OWN_PROVIDER ?? "";
const toolport = createToolport({
  mcpServers: { [SERVER]: { url, ...(isAuth && (await credentials())) } },
  ...(isAuth && ownProviderMode === "" && { callbackUrl: CALLBACK_URL }),
  ...options[scenario],
});
try {
  const { state, error } = await connectWithLogins(toolport, SERVER);
  if (state !== "ready") throw error ?? new Error(`The server is ${state}`);
  const play = () => (plays[scenario] ?? callEveryTool)(toolport);
  await withLogins(toolport, SERVER, play);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await toolport.close();
}

/** Toolport's own OAuth, or the provider of a user. */
async function credentials() {
  if (ownProviderMode === "") return { oauth: oauthOptions(scenario, context) };
  const { ownProvider } = await import("./own-provider.mjs");
  return { authProvider: ownProvider(scenario, context, { keepsDiscovery: ownProviderMode === "keeps" }) };
}

/** The runner uses the server's tool names; Toolport prefixes them with the server name. */
async function findTool(toolport, sourceName) {
  const tools = await toolport.tools();
  const found = tools.find((tool) => tool.server === SERVER && tool.sourceName === sourceName);
  if (found) return found;
  throw new Error(`No tool ${sourceName} among ${tools.map((tool) => tool.sourceName).join(", ") || "none"}`);
}

async function call(toolport, sourceName, args) {
  const { name } = await findTool(toolport, sourceName);
  const result = await toolport.callTool(name, args);
  if (result.isError) throw new Error(`${sourceName} reported an error: ${result.text}`);
  return result;
}

/** Loads a skill file by file, as a host does; its `SKILL.md` must be refused for this reason. */
async function loadSkill(toolport, expected) {
  const skills = toolport.skills(SERVER);
  const [skill] = await skills.list();
  try {
    for (const { uri } of skill.files) await skills.read(skill, uri);
  } catch (error) {
    if (error.data?.reason === expected) return;
    throw error;
  }
  throw new Error(`A file was accepted that is wrong by its ${expected}`);
}

async function callEveryTool(toolport) {
  if (context.toolCalls) {
    for (const planned of context.toolCalls) await call(toolport, planned.name, planned.arguments ?? {});
    return;
  }
  for (const tool of await toolport.tools())
    await call(toolport, tool.sourceName, sampleArguments(tool.inputSchema));
}

/** Lists and reads resources and prompts: with Toolport's methods where they exist, otherwise with the SDK client. */
async function readEverything(toolport) {
  if (typeof toolport.resources === "function") {
    for (const { uri } of await toolport.resources()) await toolport.readResource(SERVER, uri);
    for (const { name } of await toolport.prompts()) await toolport.getPrompt(SERVER, name, {});
    return;
  }
  const client = await toolport.client(SERVER);
  for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
  for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
}

/** One value of the right type for every required property. */
function sampleArguments(schema) {
  const samples = {
    string: "sample",
    integer: 1,
    number: 1,
    boolean: true,
    array: [],
    object: {},
    null: null,
  };
  const required = (schema.required ?? []).map((key) => [
    key,
    samples[schema.properties?.[key]?.type] ?? "sample",
  ]);
  return Object.fromEntries(required);
}
