/** Two servers whose tools are deferred, but for one. */
import { createToolport, type ToolportOptions } from "toolport";
import { createTestServer } from "toolport/testing";

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;

export function openDeferred(options: Partial<ToolportOptions> = {}) {
  const weather = createTestServer({
    instructions: "Weather of the whole world. Ask for one city at a time.",
    tools: {
      forecast: {
        description: "The forecast for a city",
        inputSchema: city,
        outputSchema: { type: "object", properties: { sky: { type: "string" } }, required: ["sky"] },
        handler: ({ city }) => ({
          content: [{ type: "text", text: `Rain in ${city}` }],
          structuredContent: { sky: "rain" },
        }),
      },
      history: { description: "The weather of past days", inputSchema: city, handler: () => "It was dry" },
    },
  });
  const mail = createTestServer({
    tools: {
      send: { description: "Sends a mail", handler: ({ to }) => `Sent to ${to}` },
      inbox: { description: "Lists new mail", handler: () => "Nothing new" },
    },
  });
  const toolport = createToolport({
    mcpServers: { weather: weather.memory(), mail: mail.memory() },
    deferTools: { alwaysVisible: ["mail__inbox"] },
    ...options,
  });
  return {
    toolport,
    weather,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await Promise.all([weather.close(), mail.close()]);
    },
  };
}
