/** The connections of a store to PostgreSQL: opened from a URL, or taken from the user's pool. */

import { Socket } from "node:net";
import type { Client, ClientBase, ClientConfig, Pool, PoolClient } from "pg";
import { loadOnce } from "../../../util/concurrency.js";
import { isRecord } from "../../../util/json.js";
import { CONNECT_LIMIT_MS, loadDriver } from "../remote-database.js";
import { hasMethods, hasScheme, needs } from "../store-arguments.js";

/** Provides connections. */
export interface PostgresSource {
  /** The name of the server in messages, without user and password. */
  readonly place: string;
  /** Loads the driver. No time limit applies: loading can take long on a busy machine. */
  load(): Promise<unknown>;
  /** Works with a connection of the pool, and drops it when the signal aborts. */
  use<T>(work: (client: ClientBase) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** A connection outside the pool, for listening only; not yet connected. */
  listener(): Promise<{ client: Client; close(): void }>;
  close(): Promise<void>;
}

/** The server's statement timeout is shorter than ours, so that a statement that was reported as failed does not take effect later. */
const STATEMENT_LIMIT_MS = 3_500;
const MAX_CONNECTIONS = 5;
/** How long the server may take to close a connection. */
const GOODBYE_MS = 500;

const ignore = (): void => {};
const loadPg = () => loadDriver("pg", () => import("pg"));

/** The sockets of the driver, which waits for the server to close them without a limit. */
function trackSockets() {
  const open = new Map<Socket, Promise<void>>();
  let isClosed = false;
  return {
    create(): Socket {
      if (isClosed) throw new Error("The store was closed in the meantime");
      const socket = new Socket();
      const closed = new Promise<void>((resolve) => {
        socket.once("close", () => {
          open.delete(socket);
          resolve();
        });
      });
      open.set(socket, closed);
      return socket;
    },
    /** Resolves when all are closed; destroys those that take too long. */
    async close() {
      isClosed = true;
      const timer = setTimeout(() => {
        for (const socket of open.keys()) socket.destroy();
      }, GOODBYE_MS);
      await Promise.all(open.values());
      clearTimeout(timer);
    },
  };
}

/**
 * Takes one connection out of the pool. An error of the connection also rejects its query, but the pool removes its error listener
 * when it returns the connection, and the server may send a fatal error together with the ready message. A promise would leave a
 * moment without a listener, in which such an error ends the process. So this uses a callback.
 */
function takeOut(pool: Pool): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error);
      client.on("error", ignore);
      resolve(client);
    });
  });
}

/** Works with one connection of the pool, and returns it; after an error it is dropped. */
async function usePooled<T>(
  pool: Pool,
  { work, signal }: { work: (client: PoolClient) => Promise<T>; signal: AbortSignal },
): Promise<T> {
  const client = await takeOut(pool);
  let isBack = false;
  const giveBack = (isBroken: boolean) => {
    if (isBack) return;
    isBack = true;
    client.release(isBroken);
    client.off("error", ignore);
  };
  const abandon = () => giveBack(true);
  signal.addEventListener("abort", abandon);
  try {
    if (signal.aborted) throw signal.reason;
    const result = await work(client);
    giveBack(false);
    return result;
  } catch (error) {
    giveBack(true);
    throw error;
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}

function createListener(
  PgClient: typeof Client,
  { config, socket }: { config: ClientConfig; socket: Socket },
) {
  const client = new PgClient(config);
  client.on("error", ignore);
  socket.unref();
  return {
    client,
    close() {
      const cut = () => {
        clearTimeout(timer);
        socket.destroy();
      };
      const timer = setTimeout(cut, GOODBYE_MS).unref();
      client.end().then(cut, cut);
    },
  };
}

/** Connections to the server at `url`, in a small pool that does not keep the process alive. */
export function postgresAt(url: string): PostgresSource {
  const sockets = trackSockets();
  const place = placeOf(url);
  const config = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    fallback_application_name: "toolport",
    keepAlive: true,
  };
  const prepared = new WeakSet<ClientBase>();
  const openPool = loadOnce(async (): Promise<Pool> => {
    const { Pool } = await loadPg();
    const pool = new Pool({
      ...config,
      stream: sockets.create,
      max: MAX_CONNECTIONS,
      allowExitOnIdle: true,
    });
    return pool.on("error", ignore);
  });
  return {
    place,
    load: loadPg,
    async use(work, signal) {
      return await usePooled(await openPool(), {
        signal,
        async work(client) {
          // Not as a connection parameter, which proxies such as PgBouncer reject.
          if (!prepared.has(client)) await client.query(`set statement_timeout = ${STATEMENT_LIMIT_MS}`);
          prepared.add(client);
          return await work(client);
        },
      });
    },
    async listener() {
      const { Client: PgClient } = await loadPg();
      const socket = sockets.create();
      return createListener(PgClient, { config: { ...config, stream: () => socket }, socket });
    },
    async close() {
      const pool = await openPool.current?.catch(ignore);
      pool?.end().catch(ignore);
      await sockets.close();
    },
  };
}

/** Uses the user's pool, which the user ends. Only the connection for notices belongs to the store. */
export function postgresOf(pool: Pool): PostgresSource {
  const sockets = trackSockets();
  // Without a listener, the error of an idle connection would end the process.
  pool.on("error", ignore);
  return {
    place: "PostgreSQL",
    load: async () => {},
    use: (work, signal) => usePooled(pool, { work, signal }),
    async listener() {
      const { Client: PgClient } = await loadPg();
      const socket = sockets.create();
      // Copy property descriptors too: the password is not enumerable.
      const config: ClientConfig = Object.defineProperties(
        {},
        Object.getOwnPropertyDescriptors(pool.options),
      );
      return createListener(PgClient, { config: Object.assign(config, { stream: () => socket }), socket });
    },
    async close() {
      pool.off("error", ignore);
      await sockets.close();
    },
  };
}

/** What is wrong with the first argument of `postgresStore()`. */
export function postgresProblem(value: unknown): string | undefined {
  const expected = "a URL such as postgres://localhost/app, or a Pool of pg";
  if (typeof value === "string" || value instanceof URL)
    return hasScheme(String(value), ["postgres:", "postgresql:", "socket:"])
      ? undefined
      : `the address is not a PostgreSQL URL: this needs ${expected}`;
  const isPool = hasMethods(value, ["connect", "on", "off"]) && isRecord(value["options"]);
  return isPool ? undefined : needs(expected, value);
}

function placeOf(url: string): string {
  const { protocol, host } = new URL(url);
  return protocol === "socket:" || host === "" ? "PostgreSQL" : `PostgreSQL at ${host}`;
}
