/** What is offered and under which name: filters, a collision of names, and a list that need not be read twice. */
import { createToolport } from "../index.js";
import { formatTable } from "../util/format-table.js";
import { check, type StepOutcome } from "./step-runner.js";
import type { WeatherServers } from "./weather.js";

export async function shapeCatalog(weather: WeatherServers): Promise<StepOutcome<never>> {
  await using toolport = createToolport({
    mcpServers: weather.mcpServers,
    prefix: false,
    except: ["delete_*"],
    onServerError: "throw",
  });
  await toolport.connect();
  const tools = await toolport.tools();
  check(tools.length === 2, `${tools.length} tools are offered, not 2`);
  check(new Set(tools.map(({ name }) => name)).size === 2, "two tools have the same name");
  const [collision] = toolport.snapshot().nameIssues;
  check(collision?.kind === "collision", "the collision of names is not reported");

  const before = weather.listCount;
  await toolport.tools();
  const requests = weather.listCount - before;
  check(requests === 0, `the second listing took ${requests} requests`);
  const rows = tools.map(({ name, server, sourceName }) => [name, server, sourceName]);
  return {
    details: [
      ...formatTable([{ title: "name" }, { title: "server" }, { title: "its name there" }], rows),
      "filter: except delete_*, so nobody is offered delete_station",
      `collision: ${collision.server}/${collision.sourceName} became ${collision.name}`,
      `second listing: ${requests} requests`,
    ],
  };
}
