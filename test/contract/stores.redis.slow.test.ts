/** The store in Redis keeps the store contract. */
import { redisServer } from "./server-stores.js";
import { describeServerContract } from "./store-on-server.js";

describeServerContract(redisServer);
