// The seed of all random worlds, requests and moments of the tests.

/** PODKEEP_SEED, or a random one. `npm test` takes a number of the code: the same code is tested in the same way. */
export const SEED = Number(process.env["PODKEEP_SEED"] || Date.now() % 2 ** 31);

console.log(`PODKEEP_SEED=${SEED}`);
