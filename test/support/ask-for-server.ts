// A process that asks again and again whether a server runs on a data directory, as each command does once.
import { isServed } from "../../src/db/sqlite/directory-lock.ts";

const [, , directory = ""] = process.argv;
process.stdout.write("begun\n");
// It ends by itself if the test that started it is killed.
for (let asked = 0; asked < 100_000; asked++) isServed(directory);
