// Loaded before the tests: what ends with their run.
import { afterAll } from "bun:test";
import { endSharedPostgres } from "./store.ts";

afterAll(endSharedPostgres);
