/** Whose port it is, and how it relates to the other ports of one `createToolport`. */
import type { FilterSet } from "../catalog/filters/filter-set.js";
import type { LeanParts } from "./lean/lean-parts.js";
import type { Principal } from "./principal.js";

/** Empty for the plain port. */
export interface PortOwner<Port> {
  readonly principal?: Principal | undefined;
  /** The plain port, which provides its servers to every user. */
  readonly parent?: Port | undefined;
  /** All ports, this one included. */
  readonly all?: (() => readonly Port[]) | undefined;
  /** Set once a gateway uses the ports. */
  readonly lean?: (() => LeanParts | undefined) | undefined;
  /** Lists are read when they are needed, and the port listens for changes only while a client does. @default false */
  readonly isLean?: boolean | undefined;
  /** Filters of an earlier port of the same user. @default those that apply to all users */
  readonly filters?: FilterSet | undefined;
}
