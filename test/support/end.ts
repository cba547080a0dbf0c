// Loaded before the tests: what ends with their run, also with one that is interrupted.
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
