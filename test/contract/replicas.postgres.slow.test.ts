/** Replicas share keys, notes and messages through PostgreSQL. */
import { describeServerReplicas } from "./replicas-on-server.js";
import { postgresServer } from "./server-stores.js";

describeServerReplicas(postgresServer);
