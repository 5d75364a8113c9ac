/** Puts environment variables into the texts of a configuration file. */

/** The environment to look variables up in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `${NAME}` or `${NAME:-default}`; a second dollar sign in front makes it plain text. */
const REFERENCE = /\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Ways other programs write variables. Sent as plain text they would fail far from here, so they are reported. */
const FOREIGN = /\$\{(?:env|input|file|command|config):[^}]*\}/g;

export interface Expansion {
  text: string;
  /** What is wrong, without the text itself; empty if all is well. */
  problems: string[];
}

/**
 * Replaces the variables in one text, in one pass: what a variable holds is never looked into.
 *
 * @example
 * ```ts
 * expandVariables("Bearer ${TOKEN}", { TOKEN: "abc" }); // { text: "Bearer abc", problems: [] }
 * expandVariables("${PORT:-8080}", {}); // { text: "8080", problems: [] }
 * expandVariables("$${HOME}", {}); // { text: "${HOME}", problems: [] }
 * ```
 */
export function expandVariables(text: string, env: Environment): Expansion {
  if (!text.includes("${")) return { text, problems: [] };
  const problems = (text.match(FOREIGN) ?? []).map(
    (found) => `holds ${found}, which is not understood here; write \${NAME} or \${NAME:-default}`,
  );
  const expanded = text.replace(
    REFERENCE,
    (whole, dollar: string, name: string, fallback: string | undefined) => {
      if (dollar !== "") return whole.slice(1);
      const value = env[name];
      // As in a shell, `:-` also stands in for an empty variable.
      if (typeof value === "string" && (value !== "" || fallback === undefined)) return value;
      if (fallback === undefined) {
        problems.push(`needs the variable ${name}, which is not set; set it, or write \${${name}:-default}`);
      }
      return fallback ?? "";
    },
  );
  return { text: expanded, problems };
}
