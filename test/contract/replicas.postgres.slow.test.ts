/** Replicas share keys, notes and letters through PostgreSQL. */
import { describeServerReplicas } from "./replicas-on-server.js";
import { postgresServer } from "./server-stores.js";

describeServerReplicas(postgresServer);
