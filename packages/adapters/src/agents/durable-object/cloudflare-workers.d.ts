/** The only class that is imported from the Workers runtime. The real types would replace those of Node everywhere. */
declare module "cloudflare:workers" {
  export const DurableObject: new (ctx: unknown, env: unknown) => object;
}
