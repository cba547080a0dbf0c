// The seed of all random worlds, requests and moments of the tests; preloaded, so that fast-check has it everywhere.
import fc from "fast-check";

/** PODKEEP_SEED, or a random one. `npm test` takes a number of the code: the same code is tested in the same way. */
export const SEED = Number(process.env["PODKEEP_SEED"] || Date.now() % 2 ** 31);
fc.configureGlobal({ seed: SEED });

// Not in scripts/test.ts, which prints the one that it gives.
if (process.env["NODE_ENV"] === "test" && !process.env["PODKEEP_SEED"]) console.log(`PODKEEP_SEED=${SEED}`);
