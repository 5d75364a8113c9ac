/** Where each type of tool output goes: to the model, or into the artifact for the program. */

/** `ToolMessage.content`, which the model sees, or `ToolMessage.artifact`, which it does not. */
export type OutputTarget = "content" | "artifact";

/** The types of MCP content that have a target. */
export type OutputType = "text" | "image" | "audio" | "resource" | "resource_link";

/** One target for everything, or one for each type that is named. */
export type OutputHandling = OutputTarget | { readonly [Type in OutputType]?: OutputTarget | undefined };

export const OUTPUT_TYPES: readonly OutputType[] = ["text", "image", "audio", "resource", "resource_link"];

const DEFAULTS: Readonly<Record<OutputType, OutputTarget>> = {
  text: "content",
  image: "content",
  audio: "content",
  resource: "artifact",
  resource_link: "content",
};

/** Merges levels over the defaults, later ones over earlier ones: top level first, then the server. */
export function resolveOutputHandling(
  ...levels: readonly (OutputHandling | undefined)[]
): Readonly<Record<OutputType, OutputTarget>> {
  const resolved = { ...DEFAULTS };
  for (const level of levels) {
    for (const type of OUTPUT_TYPES) {
      const target = typeof level === "string" ? level : level?.[type];
      if (target !== undefined) resolved[type] = target;
    }
  }
  return resolved;
}
