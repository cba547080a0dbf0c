// Loaded before the tests: what ends with their run.
import { afterAll } from "bun:test";
import { endExecutables } from "./executable.ts";
import { endSharedPostgres } from "./store.ts";

afterAll(endExecutables);
afterAll(endSharedPostgres);
