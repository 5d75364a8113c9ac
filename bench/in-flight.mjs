/** Keeps `width` calls in flight until `count` have been made. */
export async function keepInFlight(count, width, call) {
  let left = count;
  const runWorker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: width }, runWorker));
}
