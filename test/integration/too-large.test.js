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
/** An answer over the cap costs its own call and nothing else, on every transport. */
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
const MIB = 1024 * 1024;
const TOO_LARGE = 64 * MIB;
const LEAN = "test/fixtures/servers/stdio-lean.mjs";
const tools = {
    big: { handler: ({ bytes }) => "x".repeat(Number(bytes)) },
    echo: { handler: ({ text }) => String(text) },
};
const overHttp = (era) => async (run) => {
    const env_1 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_1, createTestServer({ era, tools }), true);
        await run({ url: (await server.http()).url });
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
};
const transports = {
    stdio: (run) => run({ command: process.execPath, args: [LEAN] }),
    "legacy HTTP": overHttp("legacy"),
    "modern HTTP": overHttp("modern"),
    "HTTP+SSE": async (run) => {
        const env_2 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_2, createTestServer({ tools }), true);
            await run((await server.sse()).entry);
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
    },
    WebSocket: async (run) => {
        const env_3 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_3, createTestServer({ tools }), true);
            await run((await server.webSocket()).entry);
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
    },
    memory: async (run) => {
        const env_4 = { stack: [], error: void 0, hasError: false };
        try {
            const server = __addDisposableResource(env_4, createTestServer({ tools }), true);
            await run(server.memory());
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
    },
};
describe.each(Object.keys(transports))("over %s", (name) => {
    test("64 MB fail that call with MESSAGE_TOO_LARGE, and the next call works", async () => {
        await transports[name](async (entry) => {
            const env_5 = { stack: [], error: void 0, hasError: false };
            try {
                const toolport = __addDisposableResource(env_5, createToolport({ mcpServers: { it: entry } }), true);
                await toolport.connect();
                const error = await toolport.callTool("it__big", { bytes: TOO_LARGE }).then(() => undefined, (reason) => reason);
                expect(error).toMatchObject({ name: "ConnectionError", code: "MESSAGE_TOO_LARGE", server: "it" });
                expect((await toolport.callTool("it__echo", { text: "next" })).text).toBe("next");
            }
            catch (e_5) {
                env_5.error = e_5;
                env_5.hasError = true;
            }
            finally {
                const result_5 = __disposeResources(env_5);
                if (result_5)
                    await result_5;
            }
        });
    });
    test("9.9 MiB pass", async () => {
        await transports[name](async (entry) => {
            const env_6 = { stack: [], error: void 0, hasError: false };
            try {
                const toolport = __addDisposableResource(env_6, createToolport({ mcpServers: { it: entry } }), true);
                const bytes = Math.floor(9.9 * MIB);
                expect((await toolport.callTool("it__big", { bytes })).text).toHaveLength(bytes);
            }
            catch (e_6) {
                env_6.error = e_6;
                env_6.hasError = true;
            }
            finally {
                const result_6 = __disposeResources(env_6);
                if (result_6)
                    await result_6;
            }
        });
    });
});
test("maxMessageBytes moves the cap", async () => {
    const env_7 = { stack: [], error: void 0, hasError: false };
    try {
        const it = { command: process.execPath, args: [LEAN] };
        const toolport = __addDisposableResource(env_7, createToolport({ mcpServers: { it }, maxMessageBytes: 100_000 }), true);
        await expect(toolport.callTool("it__big", { bytes: 200_000 })).rejects.toMatchObject({
            code: "MESSAGE_TOO_LARGE",
        });
        expect((await toolport.callTool("it__big", { bytes: 50_000 })).text).toHaveLength(50_000);
    }
    catch (e_7) {
        env_7.error = e_7;
        env_7.hasError = true;
    }
    finally {
        const result_7 = __disposeResources(env_7);
        if (result_7)
            await result_7;
    }
});
test("over stdio a neighbour in flight is not hurt by another call's large answer", async () => {
    const env_8 = { stack: [], error: void 0, hasError: false };
    try {
        const it = { command: process.execPath, args: [LEAN] };
        const toolport = __addDisposableResource(env_8, createToolport({ mcpServers: { it } }), true);
        await toolport.connect();
        const neighbour = toolport.callTool("it__slow", { ms: 400 });
        await expect(toolport.callTool("it__big", { bytes: TOO_LARGE })).rejects.toMatchObject({
            code: "MESSAGE_TOO_LARGE",
        });
        expect((await neighbour).text).toBe("done");
    }
    catch (e_8) {
        env_8.error = e_8;
        env_8.hasError = true;
    }
    finally {
        const result_8 = __disposeResources(env_8);
        if (result_8)
            await result_8;
    }
});
