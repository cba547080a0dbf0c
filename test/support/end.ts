// The end of a test run, also of an interrupted one; preloaded.
import { afterAll } from "bun:test";
import { endSharedPostgres } from "./database.ts";
import { removeScratch } from "./scratch.ts";
import { endProcesses } from "./start-server.ts";

afterAll(async () => {
  endProcesses();
  await endSharedPostgres();
  removeScratch();
});
process.prependListener("exit", endProcesses);
