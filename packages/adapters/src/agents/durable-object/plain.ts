/** The base class of an agent outside workerd: it only stores the arguments of the constructor. */
export class DurableObjectBase {
  readonly ctx: unknown;
  readonly env: unknown;

  constructor(ctx?: unknown, env?: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}
