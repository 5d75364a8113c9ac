/** The packed package in projects of other people: `npm run test:package`. */
import { mergeConfig } from "vitest/config";
import base from "./vitest.config.js";

const packed = mergeConfig(base, {});
packed.test = { ...packed.test, include: ["test/package/**/*.test.ts"], exclude: [] };

export default packed;
