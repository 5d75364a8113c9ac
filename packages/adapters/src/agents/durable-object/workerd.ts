/** The base class of an agent in workerd: the runtime accepts RPC only for subclasses of its own `DurableObject`. */
import { DurableObject } from "cloudflare:workers";
import { DurableObjectBase as PlainBase } from "./plain.js";

export class DurableObjectBase extends DurableObject {
  // biome-ignore lint/correctness/noUnreachableSuper: without a context the instance is made by another constructor.
  constructor(ctx?: unknown, env?: unknown) {
    // The runtime's constructor throws without a context, but a Worker may also create an agent with `new`.
    // biome-ignore lint/correctness/noConstructorReturn: the instance has the right prototype, that of `new.target`.
    if (ctx === undefined) return Reflect.construct(PlainBase, [ctx, env], new.target);
    super(ctx, env);
  }
}
