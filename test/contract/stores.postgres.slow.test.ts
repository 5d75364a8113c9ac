/** The store in PostgreSQL keeps the store contract. */
import { postgresServer } from "./server-stores.js";
import { describeServerContract } from "./store-on-server.js";

describeServerContract(postgresServer);
