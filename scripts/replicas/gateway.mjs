/**
 * One replica: `node gateway.mjs '{"servers":{…},"store":{"kind":"redis","url":"…"}}'`. Prints its port as `{"port":…}` and ends with
 * its standard input. The token `client-<user>` belongs to that user. `policy`: a policy document.
 */
import { createServer } from "node:http";
import { createToolport } from "toolport";
import { createGateway, readPolicy } from "toolport/serve";
import { CALLBACK_URL, openStore } from "./shared-state.mjs";

const { servers, store: place, policy } = JSON.parse(process.argv[2]);
const store = await openStore(place);
const toolport = createToolport({ mcpServers: servers, store, callbackUrl: CALLBACK_URL });
const gateway = createGateway(toolport, {
  auth: { verify },
  ...(policy !== undefined && { policy: await readPolicy(policy) }),
});

function verify(request) {
  const [, principal] = /^Bearer client-(\w+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
  return principal && { principal };
}

const listener = createServer((request, response) => gateway.node(request, response));
listener.listen(0, "127.0.0.1", () =>
  process.stdout.write(`${JSON.stringify({ port: listener.address().port })}\n`),
);
process.stdin.resume().on("end", () => process.exit());
