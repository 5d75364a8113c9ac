/** The packed package in projects of other people: `npm run test:package`. */
import { mergeConfig } from "vitest/config";
import shared from "./vitest.shared.js";

const packed = mergeConfig(shared, {});
packed.test = { ...packed.test, include: ["test/package/**/*.test.ts"], exclude: [] };

export default packed;
