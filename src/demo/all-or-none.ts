/** Servers that are started together: if one of them fails, the others must not keep the program running. */

/** What all of `starting` give. If one fails, `close` is called when all have settled, and the first failure is thrown. */
export async function allOrNone<Started extends readonly unknown[]>(
  starting: { readonly [Index in keyof Started]: Promise<Started[Index]> },
  close: () => Promise<unknown>,
): Promise<Started> {
  const settled = await Promise.allSettled(starting);
  const failed = settled.find((each) => each.status === "rejected");
  if (failed === undefined) return Promise.all(starting) as Promise<unknown> as Promise<Started>;
  await close();
  throw failed.reason;
}
