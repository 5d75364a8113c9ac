/** The contract over the in-memory pair, bare and wrapped as a custom transport. */
import type { Transport } from "@modelcontextprotocol/client";
import type { CustomConfig } from "../../packages/core/src/config/server-config.js";
import { wrapCustomTransport } from "../../packages/core/src/transports/custom/custom-transport.js";
import { createLinkedTransports } from "../../packages/core/src/transports/memory/linked-transports.js";
import { answerContract } from "../fixtures/servers/sdk-contract.mjs";
import { type ContractSubject, describeTransport } from "./transport-contract.js";

async function make(
  limits: { maxMessageBytes: number },
  wrap: (client: ReturnType<typeof createLinkedTransports>[0]) => Promise<ContractSubject["transport"]>,
): Promise<ContractSubject> {
  const [client, server] = createLinkedTransports(limits);
  answerContract(server);
  await server.start();
  return { transport: await wrap(client), vanish: () => server.close(), cleanup: () => server.close() };
}

const traits = { inProcess: true };

describeTransport("memory", (limits) => make(limits, async (client) => client), traits);

describeTransport(
  "custom",
  (limits) =>
    make(limits, (client) => {
      const createTransport = (): Transport => client;
      return wrapCustomTransport({ kind: "custom", name: "contract", createTransport } as CustomConfig);
    }),
  traits,
);
