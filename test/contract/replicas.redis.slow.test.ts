/** Replicas share keys, notes and messages through Redis. */
import { describeServerReplicas } from "./replicas-on-server.js";
import { redisServer } from "./server-stores.js";

describeServerReplicas(redisServer);
