/** The store that all replicas share, with the logins of all users in it. */
import { createToolport } from "toolport";

export const CALLBACK_URL = "http://127.0.0.1/oauth/callback";

/** Logins under way at once. */
const LOGINS = 10;
const MAX_ATTEMPTS = 5;

/** @param place `{ kind: "redis" | "postgres", url }` or `{ kind: "sqlite", path }` */
export async function openStore({ kind, url, path }) {
  if (kind === "redis") return (await import("toolport/redis")).redisStore(url);
  if (kind === "postgres") return (await import("toolport/postgres")).postgresStore(url);
  return (await import("toolport/sqlite")).sqliteStore(path);
}

/** Logs every user in at every server, as a browser would. */
export async function logInAll({ servers, store: place, users }) {
  const store = await openStore(place);
  const toolport = createToolport({ mcpServers: servers, store, callbackUrl: CALLBACK_URL });
  const left = [...users];
  const logIn = async () => {
    for (let user = left.pop(); user !== undefined; user = left.pop()) {
      const port = toolport.as(user);
      for (const name of Object.keys(servers)) {
        const authUrl = await findLogin(port, name);
        const response = await fetch(`${authUrl}&user=${user}`, { redirect: "manual" });
        await port.finishAuth(name, new URL(response.headers.get("location")).searchParams);
      }
      await port.close();
    }
  };
  await Promise.all(Array.from({ length: LOGINS }, logIn));
  await toolport.close();
  await store.close();
}

/** A busy machine may need more than one attempt. */
async function findLogin(port, name) {
  for (let attempt = 1; ; attempt++) {
    const { state, authUrl } = await port.connectServer(name);
    if (authUrl !== undefined) return authUrl;
    if (attempt === MAX_ATTEMPTS) throw new Error(`${name} is ${state}, without a login`);
  }
}
