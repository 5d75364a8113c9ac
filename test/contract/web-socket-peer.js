import { WebSocketServer } from "ws";
import { SecretRecord } from "../../src/config/secret-record.js";
export const MIB = 1024 * 1024;
export const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
export const PONG = '{"jsonrpc":"2.0","id":1,"result":{}}';
const open = [];
/** For `afterEach`: closes everything the functions of this file have opened, the last first. */
export async function closeAll() {
    for (const close of open.splice(0).reverse())
        await close();
}
/** A WebSocket server that selects the subprotocol `mcp` (or none) and leaves the rest to `onConnection`. */
export async function serve(onConnection, options = {}) {
    const upgrades = [];
    const server = new WebSocketServer({
        port: 0,
        host: "127.0.0.1",
        path: "/mcp/ws",
        autoPong: options.autoPong ?? true,
        handleProtocols: options.selectNone ? () => false : (protocols) => (protocols.has("mcp") ? "mcp" : false),
    });
    server.on("connection", (socket, request) => {
        upgrades.push(request);
        socket.on("error", () => { });
        onConnection(socket, request);
    });
    await new Promise((resolve) => server.once("listening", resolve));
    open.push(async () => {
        for (const client of server.clients)
            client.terminate();
        await new Promise((resolve) => server.close(resolve));
    });
    return { url: `ws://127.0.0.1:${server.address().port}/mcp/ws`, upgrades };
}
export async function listen(server) {
    const sockets = new Set();
    server.on("connection", (socket) => sockets.add(socket));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(async () => {
        for (const socket of sockets)
            socket.destroy();
        await new Promise((resolve) => server.close(resolve));
    });
    return `ws://127.0.0.1:${server.address().port}/mcp/ws`;
}
export function configOf(url, headers = new SecretRecord()) {
    return {
        kind: "websocket",
        name: "peer",
        url,
        headers,
        timeoutMs: undefined,
        protocol: "auto",
        enabled: true,
        logEvents: false,
        logRequests: false,
        logResponses: false,
        reconnect: { enabled: true, maxAttempts: undefined, delayMs: undefined },
    };
}
/** The transport with promises for its first message and its end. */
export function watch(transport) {
    const errors = [];
    const received = [];
    let closes = 0;
    transport.onerror = (error) => errors.push(error);
    const closed = new Promise((resolve) => {
        transport.onclose = () => {
            closes++;
            resolve();
        };
    });
    const first = new Promise((resolve) => {
        transport.onmessage = (message) => {
            received.push(message);
            resolve(message);
        };
    });
    open.push(() => transport.close());
    return { transport, errors, received, closed, first, closes: () => closes };
}
