/** Public names of prompts, by the same rules as those of tools: valid, unique, and stable over time. */
import type { NamingOptions } from "../build-snapshot.js";
import type { SourceTool } from "../source-tool.js";
import { assignNames } from "./assign-names.js";

/** A prompt as its server lists it. */
interface ListedPrompt {
  readonly server: string;
  readonly item: Readonly<Record<string, unknown>>;
}

export class PromptNames {
  readonly #naming: Pick<NamingOptions, "prefix" | "additionalToolNamePrefix">;
  #named: { readonly prompts: readonly ListedPrompt[]; readonly names: readonly string[] } | undefined;
  #given: ReadonlyMap<string, string> | undefined;

  constructor(naming: Pick<NamingOptions, "prefix" | "additionalToolNamePrefix">) {
    this.#naming = naming;
  }

  /** One name for each prompt, in their order; computed once for the same array. Prompts that had a name before keep it. */
  of(prompts: readonly ListedPrompt[]): readonly string[] {
    if (this.#named?.prompts === prompts) return this.#named.names;
    const { prefix, additionalToolNamePrefix } = this.#naming;
    const refs = new Map(prompts.map(({ server }) => [server, { name: server }]));
    const named = prompts.map(({ server, item }) => {
      const name = item["name"] as string;
      // The rules need the name of a tool only.
      return { server: refs.get(server)!, tool: { name, sourceName: name } as SourceTool };
    });
    const assigned = assignNames(named, { prefix, additionalToolNamePrefix, previous: this.#given });
    this.#given = assigned.given;
    this.#named = { prompts, names: assigned.names };
    return assigned.names;
  }
}
