/** Replicas during a rotation of keys and a rolling update: what one of them sealed, the others open or refuse, and none fails. */
import { memoryStore, type Store } from "toolport";
import { afterEach, expect, test, vi } from "vitest";
import { useServer } from "../../../test/support/use-server.js";
import { GATEWAY_KEYS_RECORD, loadGatewayKeys } from "../src/replicas/gateway-key.js";
import { type AttackScene, openAttackScene } from "./attack-scene.js";
import { numbered, startAskingServer } from "./support/asking-server.js";

const server = useServer(() =>
  startAskingServer({
    nameOf: (index) => `ask_${numbered(index)}`,
    createsTask: (name) => name === "ask_001",
    requestedSchema: { type: "object", properties: {} },
  }),
);

afterEach(() => void vi.useRealTimers());

const capabilities = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Everything that a client carries from one request to the next. */
interface Carried {
  readonly session: string;
  readonly cursor: string;
  readonly requestState: string;
  readonly taskId: string;
}

async function carry(scene: AttackScene): Promise<Carried> {
  const call = async (name: string) =>
    (await scene.modern("ada", "tools/call", { name, arguments: {} }, { capabilities })).last.result;
  return {
    session: await scene.session("ada"),
    cursor: (await scene.modern("ada", "tools/list")).last.result.nextCursor,
    requestState: (await call("up__ask_000")).requestState,
    taskId: (await call("up__ask_001")).taskId,
  };
}

const inputResponses = { seat: { action: "accept", content: {} } };

/** The status of a session's request, and the JSON-RPC error codes of the others. */
async function present(scene: AttackScene, { session, cursor, requestState, taskId }: Carried) {
  const list = { id: 1, method: "tools/list", params: {} };
  const params = { name: "up__ask_000", arguments: {}, requestState, inputResponses };
  const answers = [
    await scene.modern("ada", "tools/list", { cursor }),
    await scene.modern("ada", "tools/call", params, { capabilities }),
    await scene.modern("ada", "tasks/get", { taskId }, { capabilities }),
  ];
  const { status } = await scene.legacy("ada", session, list);
  return { status, codes: answers.map(({ last }) => last.error?.code) };
}

const OPENED = { status: 200, codes: [undefined, undefined, undefined] };
const REFUSED = { status: 404, codes: [-32602, -32602, -32602] };

/** A replica that does not hear of new keys: the notice is lost. */
const deafTo = (store: Store): Store => ({
  ...store,
  watch: (prefix, listener) => (prefix === GATEWAY_KEYS_RECORD ? () => {} : store.watch(prefix, listener)),
});

test.each(["session", "cursor", "requestState", "taskId"] as const)(
  "G30 a %s under a new key opens on a replica that has not heard of the key",
  async (first) => {
    const store = memoryStore();
    const mcpServers = { up: server.entry };
    await using one = await openAttackScene({ mcpServers, store });
    await using two = await openAttackScene({ mcpServers, store: deafTo(store) }, {}, one);
    const old = await carry(one);
    expect(await present(two, old)).toEqual(OPENED);
    const keys = await loadGatewayKeys(store);
    await keys.rotate({ delayMs: 0 });
    keys.close();
    const fresh = await carry(one);
    // What is presented first makes the replica read the keys.
    const { [first]: only } = fresh;
    expect(await present(two, { ...old, [first]: only })).toEqual(OPENED);
    expect(await present(two, fresh)).toEqual(OPENED);
    // The old ones stay valid on both.
    expect(await present(one, old)).toEqual(OPENED);
    expect(await present(two, old)).toEqual(OPENED);
  },
);

test("G30 replicas whose clocks are a minute apart accept each other's seals", async () => {
  const store = memoryStore();
  const mcpServers = { up: server.entry };
  await using one = await openAttackScene({ mcpServers, store });
  await using two = await openAttackScene({ mcpServers, store }, {}, one);
  for (const ms of [-60_000, 60_000]) {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
    const carried = await carry(one);
    vi.useRealTimers();
    expect(await present(two, carried)).toEqual(OPENED);
  }
});

test("G30 what another version sealed in another format is refused, not an error of the gateway", async () => {
  await using scene = await openAttackScene({ mcpServers: { up: server.entry } });
  const carried = await carry(scene);
  // The first byte is the format.
  const other = (text: string): string => {
    const bytes = Buffer.from(text, "base64url");
    bytes[0] = 2;
    return bytes.toString("base64url");
  };
  const { session, cursor, requestState, taskId } = carried;
  const newer = {
    session: other(session),
    cursor: other(cursor),
    requestState: other(requestState),
    taskId: other(taskId),
  };
  expect(await present(scene, newer)).toEqual(REFUSED);
  expect(await present(scene, carried)).toEqual(OPENED);
});
