/** The URI of a resource, or of a template with its variables. */
import { parseUriTemplate, type TemplateArguments } from "../../catalog/uri-template.js";
import { CatalogError } from "../../errors/catalog-error.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import { suggest } from "../../util/suggest.js";

/** A resource template and its variables. */
export interface TemplateReference {
  /** The `uriTemplate` of {@link Toolport.resourceTemplates}. */
  readonly template: string;
  /** A value for each variable; those of a query are optional. */
  readonly args: TemplateArguments;
}

/**
 * Expands a template to a URI.
 *
 * @throws ToolCallError INVALID_ARGUMENTS if variables are missing or unknown, or the template is invalid
 */
export function resourceAddress(server: string, resource: string | TemplateReference): string {
  if (typeof resource === "string") return resource;
  const { template, args } = resource;
  const parsed = parseUriTemplate(template);
  const fail = (what: string, issues: { path: string; message: string }[] = []): never => {
    throw new ToolCallError({
      code: "INVALID_ARGUMENTS",
      server,
      what: `The template ${template} cannot be filled in: ${what}`,
      next: "See resourceTemplates() for its variables",
      outcome: "unsent",
      issues,
    });
  };
  if (parsed === undefined) return fail("it is not a URI template");
  const given = Object.keys(args ?? {}).filter((name) => args[name] !== undefined);
  const issues = [
    ...parsed.required
      .filter((name) => !given.includes(name))
      .map((name) => ({ path: `/${name}`, message: "is missing" })),
    ...given
      .filter((name) => !parsed.names.includes(name))
      .map((name) => ({ path: `/${name}`, message: `is not a variable${meant(name, parsed.names)}` })),
  ];
  if (issues.length > 0) fail(issues.map(({ path, message }) => `${path} ${message}`).join(", "), issues);
  return parsed.expand(args);
}

function meant(name: string, names: readonly string[]): string {
  const [close] = suggest(name, names);
  return close === undefined ? "" : `; did you mean ${close}?`;
}

/** The error for a resource that the scan withholds. */
export const resourceWithheld = (server: string, uri: string, reason: string): CatalogError =>
  new CatalogError({
    code: "RESOURCE_NOT_FOUND",
    server,
    what: `The resource ${uri} is withheld: ${reason}`,
    reason,
  });

/** The error for a URI or a template that the server does not have. */
export function resourceMissing(
  { server, uri, why = "" }: { server: string; uri: string; why?: string },
  known: readonly string[],
  cause?: unknown,
): CatalogError {
  const suggestions = suggest(uri, known);
  return new CatalogError({
    code: "RESOURCE_NOT_FOUND",
    server,
    what: `There is no resource ${uri}${why === "" ? "" : `: ${why}`}`,
    next:
      suggestions.length > 0
        ? `Did you mean ${suggestions.join(" or ")}?`
        : "See resources() and resourceTemplates() for the available resources",
    suggestions,
    cause,
  });
}
