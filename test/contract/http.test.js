/** The contract over Streamable HTTP and over legacy HTTP+SSE. */
import { SecretRecord } from "../../src/config/secret-record.js";
import { createHttpTransport } from "../../src/transports/http/http-transport.js";
import { createSseTransport } from "../../src/transports/http/sse-transport.js";
import { createHttpClient } from "../../src/transports/http/undici-client.js";
import { startPeer } from "./contract-peer.js";
import { describeTransport } from "./transport-contract.js";
const common = {
    name: "contract",
    headers: new SecretRecord(),
    authProvider: undefined,
    reconnect: { enabled: true, maxAttempts: undefined, delayMs: undefined },
};
async function make(fixtureName, limits, create) {
    const peer = await startPeer(fixtureName);
    const http = createHttpClient();
    return {
        transport: await create(peer.port, { ...limits, http }),
        vanish: peer.kill,
        cleanup: async () => {
            await http.close();
            await peer.stop();
        },
    };
}
describeTransport("http", (limits) => make("sdk-http", limits, (port, context) => {
    const config = { ...common, kind: "http", url: `http://127.0.0.1:${port}/mcp`, sseFallback: false };
    return createHttpTransport(config, context);
}), { connectionless: true });
describeTransport("sse", (limits) => make("sdk-sse", limits, (port, context) => {
    const config = { ...common, kind: "sse", url: `http://127.0.0.1:${port}/sse` };
    return createSseTransport(config, context);
}));
