// The log of a test's servers: what made a response 500, of which the client gets only a request's id.
import { createLogger } from "../../src/log.ts";

export const bugLog = createLogger("error", ({ stack }) => {
  if (stack !== undefined) console.error(`500: ${stack}`);
});
