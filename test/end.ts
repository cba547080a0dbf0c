// Loaded before the tests: what ends with their run, also with one that is interrupted.
import { afterAll } from "bun:test";
import { endProcesses } from "./executable.ts";
import { removeScratch } from "./scratch.ts";
import { endSharedPostgres } from "./store.ts";

afterAll(async () => {
  endProcesses();
  await endSharedPostgres();
  removeScratch();
});
process.prependListener("exit", endProcesses);
