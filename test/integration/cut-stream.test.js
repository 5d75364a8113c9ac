/** An answer whose stream ends before the answer fails at once, or is fetched where that is safe; never after 60 s. */
var __addDisposableResource = (this && this.__addDisposableResource) || function (env, value, async) {
    if (value !== null && value !== void 0) {
        if (typeof value !== "object" && typeof value !== "function") throw new TypeError("Object expected.");
        var dispose, inner;
        if (async) {
            if (!Symbol.asyncDispose) throw new TypeError("Symbol.asyncDispose is not defined.");
            dispose = value[Symbol.asyncDispose];
        }
        if (dispose === void 0) {
            if (!Symbol.dispose) throw new TypeError("Symbol.dispose is not defined.");
            dispose = value[Symbol.dispose];
            if (async) inner = dispose;
        }
        if (typeof dispose !== "function") throw new TypeError("Object not disposable.");
        if (inner) dispose = function() { try { inner.call(this); } catch (e) { return Promise.reject(e); } };
        env.stack.push({ value: value, dispose: dispose, async: async });
    }
    else if (async) {
        env.stack.push({ async: true });
    }
    return value;
};
var __disposeResources = (this && this.__disposeResources) || (function (SuppressedError) {
    return function (env) {
        function fail(e) {
            env.error = env.hasError ? new SuppressedError(e, env.error, "An error was suppressed during disposal.") : e;
            env.hasError = true;
        }
        var r, s = 0;
        function next() {
            while (r = env.stack.pop()) {
                try {
                    if (!r.async && s === 1) return s = 0, env.stack.push(r), Promise.resolve().then(next);
                    if (r.dispose) {
                        var result = r.dispose.call(r.value);
                        if (r.async) return s |= 2, Promise.resolve(result).then(next, function(e) { fail(e); return next(); });
                    }
                    else s |= 1;
                }
                catch (e) {
                    fail(e);
                }
            }
            if (s === 1) return env.hasError ? Promise.reject(env.error) : Promise.resolve();
            if (env.hasError) throw env.error;
        }
        return next();
    };
})(typeof SuppressedError === "function" ? SuppressedError : function (error, suppressed, message) {
    var e = new Error(message);
    return e.name = "SuppressedError", e.error = error, e.suppressed = suppressed, e;
});
import { once } from "node:events";
import { createServer } from "node:http";
import { createToolport } from "toolport";
import { describe, expect, test } from "vitest";
const SSE = { "content-type": "text/event-stream" };
/** A legacy server without sessions. Its tool `cut` ends the answer's stream in the given way. */
async function startCuttingServer(cut, onGet) {
    const calls = { cut: 0, list: 0, cutLists: 0 };
    const server = createServer(async (request, response) => {
        if (request.method === "GET" && onGet !== undefined)
            return onGet(request, response);
        if (request.method !== "POST")
            return void response.writeHead(405).end();
        let body = "";
        for await (const chunk of request)
            body += String(chunk);
        const message = JSON.parse(body);
        const reply = (result) => {
            response.writeHead(200, { "content-type": "application/json" });
            response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
        };
        if (message.id === undefined)
            return void response.writeHead(202).end();
        if (message.method === "initialize") {
            const serverInfo = { name: "cutting", version: "1.0.0" };
            return reply({
                protocolVersion: message.params?.protocolVersion,
                capabilities: { tools: {} },
                serverInfo,
            });
        }
        if (message.method === "tools/list") {
            calls.list += 1;
            if (calls.cutLists-- > 0)
                return cut(response, message);
            return reply({ tools: ["cut", "fine"].map((name) => ({ name, inputSchema: { type: "object" } })) });
        }
        if (message.method === "tools/call" && message.params?.name === "cut") {
            calls.cut += 1;
            return cut(response, message);
        }
        if (message.method === "tools/call")
            return reply({ content: [{ type: "text", text: "fine" }] });
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({
            jsonrpc: "2.0",
            id: message.id,
            error: { code: -32601, message: "Method not found" },
        }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const close = async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
    };
    const { port } = server.address();
    return { url: `http://127.0.0.1:${port}/mcp`, calls, [Symbol.asyncDispose]: close };
}
const ends = {
    "ends cleanly": (response) => void response.writeHead(200, SSE).end(": nothing\n\n"),
    "is reset": (response) => {
        response.writeHead(200, SSE).write(": soon\n\n");
        setImmediate(() => response.socket?.resetAndDestroy());
    },
    "ends in the middle of an event": (response) => {
        response.writeHead(200, SSE).end('data: {"jsonrpc": "2.0", "id');
    },
};
describe.each(Object.keys(ends))("a stream that %s", (how) => {
    test("fails the call within a second, once, and the next call works", async () => {
        const env_1 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_1, await startCuttingServer(ends[how]), true);
            const toolport = __addDisposableResource(env_1, createToolport({ mcpServers: { it: { url: server.url } } }), true);
            await toolport.connect();
            const startedAt = performance.now();
            const error = await toolport.callTool("it__cut").then(() => undefined, (reason) => reason);
            expect(performance.now() - startedAt).toBeLessThan(1_000);
            expect(error).toMatchObject({
                name: "ConnectionError",
                server: "it",
                tool: "cut",
                outcome: "unknown",
                retryable: true,
            });
            expect(server.calls.cut).toBe(1);
            expect((await toolport.callTool("it__fine")).text).toBe("fine");
        }
        catch (e_1) {
            env_1.error = e_1;
            env_1.hasError = true;
        }
        finally {
            const result_1 = __disposeResources(env_1);
            if (result_1)
                await result_1;
        }
    });
    test("is asked for again where that is safe: a list", async () => {
        const env_2 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_2, await startCuttingServer(ends[how]), true);
            const toolport = __addDisposableResource(env_2, createToolport({ mcpServers: { it: { url: server.url } } }), true);
            await toolport.connect();
            server.calls.cutLists = 1;
            await toolport.refresh("it");
            expect(await toolport.tools()).toHaveLength(2);
        }
        catch (e_2) {
            env_2.error = e_2;
            env_2.hasError = true;
        }
        finally {
            const result_2 = __disposeResources(env_2);
            if (result_2)
                await result_2;
        }
    });
});
test("a stream with event ids is resumed with Last-Event-ID, and the call succeeds", async () => {
    const env_3 = { stack: [], error: void 0, hasError: false };
    try {
        let waiting;
        const server = __addDisposableResource(env_3, await startCuttingServer((response, request) => {
            waiting = request;
            response.writeHead(200, SSE).end("id: 7\nretry: 100\ndata:\n\n");
        }, (request, response) => {
            if (request.headers["last-event-id"] !== "7")
                return void response.writeHead(405).end();
            const result = { content: [{ type: "text", text: "resumed" }] };
            response
                .writeHead(200, SSE)
                .end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: waiting?.id, result })}\n\n`);
        }), true);
        const toolport = __addDisposableResource(env_3, createToolport({ mcpServers: { it: { url: server.url } } }), true);
        expect((await toolport.callTool("it__cut")).text).toBe("resumed");
        expect(server.calls.cut).toBe(1);
    }
    catch (e_3) {
        env_3.error = e_3;
        env_3.hasError = true;
    }
    finally {
        const result_3 = __disposeResources(env_3);
        if (result_3)
            await result_3;
    }
});
test("a resume that the server refuses fails the call at once", async () => {
    const env_4 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_4, await startCuttingServer((response) => void response.writeHead(200, SSE).end("id: 7\nretry: 100\ndata:\n\n"), (_request, response) => void response.writeHead(404).end()), true);
        const toolport = __addDisposableResource(env_4, createToolport({ mcpServers: { it: { url: server.url } } }), true);
        await toolport.connect();
        const startedAt = performance.now();
        await expect(toolport.callTool("it__cut")).rejects.toMatchObject({
            name: "ConnectionError",
            outcome: "unknown",
        });
        expect(performance.now() - startedAt).toBeLessThan(1_500);
    }
    catch (e_4) {
        env_4.error = e_4;
        env_4.hasError = true;
    }
    finally {
        const result_4 = __disposeResources(env_4);
        if (result_4)
            await result_4;
    }
});
