/** A tool, resource or prompt is not there, or may not be used. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

export type CatalogErrorCode =
  | "TOOL_NOT_FOUND"
  | "RESOURCE_NOT_FOUND"
  | "PROMPT_NOT_FOUND"
  | "NOT_OFFERED"
  | "TOOL_WITHHELD"
  | "DISCOVERY_FAILED"
  | "TOOL_CHANGED"
  | "REQUIRED_TOOLS_MISSING";

/** Thrown when what was asked for is not in the catalog. */
export class CatalogError extends ToolportError<CatalogErrorCode> {
  static override readonly kind = "CatalogError";
  override readonly name = "CatalogError";
  /** Names that are close to the one asked for. */
  readonly suggestions: readonly string[];
  /** Why a tool is withheld. */
  readonly reason?: string | undefined;
  /** Names that were required and are not there. */
  readonly missing: readonly string[];

  constructor(
    init: ToolportErrorInit<CatalogErrorCode> & {
      suggestions?: readonly string[] | undefined;
      reason?: string | undefined;
      missing?: readonly string[] | undefined;
    },
  ) {
    super({ outcome: "unsent", ...init });
    this.suggestions = init.suggestions ?? [];
    this.reason = init.reason;
    this.missing = init.missing ?? [];
  }
}
