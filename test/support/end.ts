// The end of a test run, also of an interrupted one; preloaded. In a worker of `npm test` it would come after each file.
import { afterAll } from "bun:test";
import { endSharedPostgres } from "./database.ts";
import { RUN_MEMORY, removeScratch } from "./scratch.ts";
import { endProcesses } from "./start-server.ts";

if (!RUN_MEMORY) {
  afterAll(async () => {
    endProcesses();
    await endSharedPostgres();
    removeScratch();
  });
}
process.prependListener("exit", endProcesses);
