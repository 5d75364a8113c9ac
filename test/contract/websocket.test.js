/** The contract over WebSocket: with `ws`, and with the standard interface other runtimes offer. */
import { WebSocket } from "ws";
import { SecretRecord } from "../../src/config/secret-record.js";
import { createGlobalWebSocketTransport, } from "../../src/transports/websocket/web-socket-transport.js";
import { createWebSocketTransport } from "../../src/transports/websocket/websocket-transport.js";
import { startPeer } from "./contract-peer.js";
import { describeTransport } from "./transport-contract.js";
async function make(create) {
    const peer = await startPeer("sdk-websocket");
    const config = {
        kind: "websocket",
        name: "contract",
        url: `ws://127.0.0.1:${peer.port}/mcp/ws`,
        headers: new SecretRecord(),
    };
    return { transport: await create(config), vanish: peer.kill, cleanup: peer.stop };
}
describeTransport("websocket", (limits) => make((config) => createWebSocketTransport(config, limits)));
const standard = { WebSocket: WebSocket };
describeTransport("global websocket", (limits) => make((config) => createGlobalWebSocketTransport(config, limits, standard)), 
// The runtime takes in every message before anybody can look at its size.
{ inProcess: true });
