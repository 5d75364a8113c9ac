/** The package in workerd, the runtime of Cloudflare's Workers: `npm run test:workerd`. */
import { mergeConfig } from "vitest/config";
import shared from "./vitest.shared.js";

const workerd = mergeConfig(shared, {});
workerd.test = {
  ...workerd.test,
  include: ["test/workerd/**/*.test.ts"],
  exclude: [],
};

export default workerd;
