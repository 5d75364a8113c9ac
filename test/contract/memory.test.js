import { wrapCustomTransport } from "../../src/transports/custom/custom-transport.js";
import { createLinkedTransports } from "../../src/transports/memory/linked-transports.js";
import { answerContract } from "../fixtures/servers/sdk-contract.mjs";
import { describeTransport } from "./transport-contract.js";
async function make(limits, wrap) {
    const [client, server] = createLinkedTransports(limits);
    answerContract(server);
    await server.start();
    return { transport: await wrap(client), vanish: () => server.close(), cleanup: () => server.close() };
}
const traits = { inProcess: true };
describeTransport("memory", (limits) => make(limits, async (client) => client), traits);
describeTransport("custom", (limits) => make(limits, (client) => {
    const createTransport = () => client;
    return wrapCustomTransport({ kind: "custom", name: "contract", createTransport });
}), traits);
